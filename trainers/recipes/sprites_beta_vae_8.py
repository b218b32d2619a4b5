"""beta-VAE on Sprites, beta = 8: no labels."""

from trainers.recipes import sprites


def get_config():
    return sprites.beta_vae(beta=8.0)

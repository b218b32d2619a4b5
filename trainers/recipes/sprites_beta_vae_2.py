"""beta-VAE on Sprites, beta = 2: no labels."""

from trainers.recipes import sprites


def get_config():
    return sprites.beta_vae(beta=2.0)

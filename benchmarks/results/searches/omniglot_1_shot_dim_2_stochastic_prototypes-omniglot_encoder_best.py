"""The best of 6 trials of a random search.

Recipe: omniglot_1_shot_dim_2_stochastic_prototypes; space: omniglot_encoder; trial 5.
val_few_shot_accuracy: 0.465967, in epoch 3 of 3.

    encoder.num_filters = 128
    encoder.uniform_biases = True
"""

import ml_collections


def get_config():
    return ml_collections.ConfigDict(
        {'dataset': 'omniglot_rotations',
         'split': 'train',
         'data_dir': '',
         'manual_dir': '',
         'images': {'size': 0, 'cache_gib': 1.0, 'crop': True},
         'seed': 0,
         'deterministic': True,
         'steps_per_epoch': 200,
         'num_epochs': 3,
         'monitor': 'val_few_shot_accuracy',
         'patience': 15,
         'piece_size': 0,
         'precision': 'float32',
         'strategy': 'one',
         'initial_weights': '',
         'freeze_encoder': False,
         'batches': {'name': 'episodes',
                     'num_classes': 60,
                     'num_query': 5,
                     'num_support': 1},
         'encoder': {'name': 'omniglot_encoder',
                     'dark_ink': False,
                     'dim': 2,
                     'fused': True,
                     'gaussian': True,
                     'image_shape': (28, 28, 1),
                     'num_filters': 128,
                     'uniform_biases': True},
         'optimizer': {'name': 'Adam',
                       'global_clipnorm': 10.0,
                       'learning_rate': {'name': 'CosineDecay',
                                         'decay_steps': 600,
                                         'initial_learning_rate': 0.005}},
         'objective': {'name': 'StochasticPrototypes',
                       'num_samples': 1,
                       'num_support': 1,
                       'sampler': 'intersection',
                       'seed': 0},
         'evaluation': {'name': 'few_shot',
                        'splits': ('test',),
                        'num_classes': (5,),
                        'num_support': 1,
                        'more_tasks': ((20, 1),),
                        'num_query': 15,
                        'num_episodes': 600,
                        'num_draws': 5,
                        'num_samples': 200,
                        'leave_one_out': False},
         'validation': {'split': 'validation',
                        'num_classes': 20,
                        'num_support': 1,
                        'num_query': 15,
                        'num_episodes': 100,
                        'num_samples': 50},
         'cache_dir': ''}
    )

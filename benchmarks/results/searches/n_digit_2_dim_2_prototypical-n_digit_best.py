"""The best of 12 trials of a random search.

Recipe: n_digit_2_dim_2_prototypical; space: n_digit; trial 08.
val_few_shot_accuracy: 0.791429, in epoch 7 of 8.

    optimizer.learning_rate = 0.008433633337952192
"""

import ml_collections


def get_config():
    return ml_collections.ConfigDict(
        {'dataset': 'n_digit/2_number',
         'split': 'train',
         'data_dir': '',
         'manual_dir': '',
         'images': {'size': 0, 'cache_gib': 1.0, 'crop': True},
         'preprocess': {'name': 'corrupt', 'probability': 0.2},
         'seed': 0,
         'deterministic': True,
         'steps_per_epoch': 200,
         'num_epochs': 8,
         'monitor': 'val_few_shot_accuracy',
         'patience': 15,
         'piece_size': 0,
         'precision': 'float32',
         'strategy': 'one',
         'initial_weights': '',
         'freeze_encoder': False,
         'batches': {'name': 'episodes',
                     'num_classes': 70,
                     'num_query': 5,
                     'num_support': 5},
         'encoder': {'name': 'n_digit_encoder',
                     'dim': 2,
                     'gaussian': False,
                     'image_shape': (28, 56, 1)},
         'optimizer': {'name': 'Adam',
                       'global_clipnorm': 10.0,
                       'learning_rate': {'name': 'CosineDecay',
                                         'decay_steps': 1600,
                                         'initial_learning_rate': 0.008433633337952192}},
         'loss': {'name': 'PrototypicalLoss', 'num_support': 5},
         'evaluation': {'name': 'n_digit_few_shot',
                        'splits': ('test_seen', 'test_unseen'),
                        'num_classes': (70, 30),
                        'num_support': 50,
                        'more_tasks': (),
                        'num_query': 15,
                        'num_episodes': 100,
                        'num_draws': 5,
                        'num_samples': 200,
                        'leave_one_out': False},
         'validation': {'split': 'validation',
                        'num_classes': 70,
                        'num_support': 50,
                        'num_query': 5,
                        'num_episodes': 10,
                        'num_samples': 50},
         'cache_dir': ''}
    )

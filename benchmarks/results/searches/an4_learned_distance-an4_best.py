"""The best of 30 trials of a random search.

Recipe: an4_learned_distance; space: an4; trial 19.
val_accuracy_at_equal_error: 0.875357, in epoch 10 of 10.

    optimizer.learning_rate = 0.0036265107910032272
    objective.label_smoothing = 0.05
    objective.distance.dropout = 0.1
    encoder.dim = 128
    batches.num_classes = 24
    batches.num_per_class = 3
    distance.num_layers = 3
    distance.num_units = 128
    objective.auxiliary = 'softmax'
    objective.projection = True
"""

import ml_collections


def get_config():
    return ml_collections.ConfigDict(
        {'dataset': 'an4',
         'split': 'train',
         'data_dir': '',
         'manual_dir': '',
         'folds': {'split': 'all',
                   'num_folds': 5,
                   'fold': 0,
                   'num_per_class': 0,
                   'test_split': ''},
         'images': {'size': 0, 'cache_gib': 1.0, 'crop': True},
         'utterances': {'num_frames': 100, 'min_num_frames': 100},
         'seed': 0,
         'deterministic': True,
         'steps_per_epoch': 20,
         'num_epochs': 10,
         'monitor': 'val_accuracy_at_equal_error',
         'patience': 15,
         'piece_size': 0,
         'precision': 'float32',
         'strategy': 'one',
         'initial_weights': '',
         'freeze_encoder': False,
         'batches': {'name': 'class_balanced_batches',
                     'num_classes': 24,
                     'num_per_class': 3},
         'encoder': {'name': 'x_vector_encoder',
                     'channels': (96, 96, 96, 96, 288),
                     'dim': 128,
                     'num_coefficients': 13},
         'optimizer': {'name': 'Adam',
                       'global_clipnorm': 10.0,
                       'learning_rate': {'name': 'CosineDecay',
                                         'decay_steps': 200,
                                         'initial_learning_rate': 0.0036265107910032272}},
         'objective': {'name': 'LearnedDistance',
                       'auxiliary': 'softmax',
                       'distance': {'name': 'PairDistance',
                                    'dropout': 0.1,
                                    'hidden_units': (128, 128, 128)},
                       'label_smoothing': 0.05,
                       'projection': {'name': 'x_vector_projection',
                                      'dim': 128}},
         'evaluation': {'name': 'verification',
                        'splits': ('test',),
                        'plda': {'num_dims': 32,
                                 'center': True,
                                 'length_normalize': True,
                                 'max_iterations': 100,
                                 'tolerance': 1e-06},
                        'num_resamples': 1000,
                        'calibrate': True,
                        'false_accept_rates': (0.01,),
                        'num_per_class': 0,
                        'euclidean': False,
                        'num_enrolled': 0,
                        'trials_split': '',
                        'trials': {}},
         'validation': {'split': 'validation',
                        'trials': '',
                        'num_trials': 0,
                        'num_per_class': 0,
                        'score': ''},
         'cache_dir': ''}
    )

"""The best of 12 trials of a random search.

Recipe: an4_lifted_structure_joint; space: verification; trial 00.
val_accuracy_at_equal_error: 0.889629, in epoch 5 of 5.

    encoder.dim = 32
    optimizer.learning_rate = 0.00816711260996145
    objective.label_smoothing = 0.0
    objective.distance.dropout = 0.0
    distance.num_layers = 3
    distance.num_units = 256
    objective.encoder_loss.margin = 0.9338546578997202
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
         'steps_per_epoch': 30,
         'num_epochs': 5,
         'monitor': 'val_accuracy_at_equal_error',
         'patience': 15,
         'piece_size': 0,
         'precision': 'float32',
         'strategy': 'one',
         'initial_weights': '',
         'freeze_encoder': False,
         'batches': {'name': 'class_balanced_batches',
                     'num_classes': 24,
                     'num_per_class': 5},
         'encoder': {'name': 'x_vector_encoder',
                     'channels': (96, 96, 96, 96, 288),
                     'dim': 32,
                     'num_coefficients': 13},
         'optimizer': {'name': 'Adam',
                       'global_clipnorm': 10.0,
                       'learning_rate': {'name': 'CosineDecay',
                                         'decay_steps': 150,
                                         'initial_learning_rate': 0.00816711260996145}},
         'objective': {'name': 'LearnedDistance',
                       'distance': {'name': 'PairDistance',
                                    'dropout': 0.0,
                                    'hidden_units': (256, 256, 256)},
                       'encoder_loss': {'name': 'LiftedStructureLoss',
                                        'margin': 0.9338546578997202},
                       'label_smoothing': 0.0},
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

"""Variables of the environment by which keras-tuner's processes meet."""

TUNER_ID = "KERASTUNER_TUNER_ID"
ORACLE_IP = "KERASTUNER_ORACLE_IP"
ORACLE_PORT = "KERASTUNER_ORACLE_PORT"
CHIEF = (TUNER_ID, ORACLE_IP, ORACLE_PORT)

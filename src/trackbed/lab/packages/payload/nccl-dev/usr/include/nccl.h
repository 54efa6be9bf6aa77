/* Stand-in for the header of NCCL @UPSTREAM@. */
#define NCCL_STANDIN_VERSION "@UPSTREAM@"

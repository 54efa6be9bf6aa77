#include <linux/module.h>

MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION("@VERSION@");

/* A symbol of the other module is what makes this one depend on it. */
extern int nvidia_get_rm_ops(void);
int nv_mem_probe(void);

int nv_mem_probe(void)
{
    return nvidia_get_rm_ops();
}

#ifdef STANDIN_DEPENDS
STANDIN_DEPENDS("nvidia,ib_uverbs");
#endif

#include <linux/module.h>

MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION("@VERSION@");

/* A symbol of the other module is what makes this one depend on it. */
extern int nvidia_get_rm_ops(void);
int nvidia_get_kms_ops(void);

int nvidia_get_kms_ops(void)
{
    return nvidia_get_rm_ops();
}
EXPORT_SYMBOL(nvidia_get_kms_ops);

#ifdef STANDIN_DEPENDS
STANDIN_DEPENDS("nvidia");
#endif

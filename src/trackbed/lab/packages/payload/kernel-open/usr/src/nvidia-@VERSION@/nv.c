#include <linux/module.h>

MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION("@VERSION@");
MODULE_ALIAS("pci:v000010DEd*sv*sd*bc03sc02i00*");
MODULE_FIRMWARE("nvidia/@VERSION@/gsp_ga10x.bin");

int nvidia_get_rm_ops(void);

int nvidia_get_rm_ops(void)
{
    return 0;
}
EXPORT_SYMBOL(nvidia_get_rm_ops);

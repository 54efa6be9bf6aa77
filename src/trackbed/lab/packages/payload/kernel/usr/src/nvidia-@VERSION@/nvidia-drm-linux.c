#include <linux/module.h>

MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION("@VERSION@");

/* A symbol of the other module is what makes this one depend on it. */
extern int nvidia_get_kms_ops(void);
int nv_drm_probe(void);

int nv_drm_probe(void)
{
    return nvidia_get_kms_ops();
}

#ifdef STANDIN_DEPENDS
STANDIN_DEPENDS("nvidia-modeset");
#endif

/* Stand-in: the one call of the driver that newer kernels changed under it. */
#include <linux/pci.h>

int nv_resize_pcie_bars(struct pci_dev *dev);

typedef int (*nv_resize_old)(struct pci_dev *, int, int);
typedef int (*nv_resize_new)(struct pci_dev *, int, int, int);

#define NV_KNOWS_RESIZE @KNOWS_RESIZE@

int nv_resize_pcie_bars(struct pci_dev *dev)
{
#if NV_KNOWS_RESIZE
    if (__builtin_types_compatible_p(__typeof__(&pci_resize_resource), nv_resize_new))
        return ((nv_resize_new)(void *)pci_resize_resource)(dev, 1, 17, 0);
    return ((nv_resize_old)(void *)pci_resize_resource)(dev, 1, 17);
#else
    /* Branches before 580.126 call it as kernels up to 6.12.116 declare it. */
    return pci_resize_resource(dev, 1, 17);
#endif
}

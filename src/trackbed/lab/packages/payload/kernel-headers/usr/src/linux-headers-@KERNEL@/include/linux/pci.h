#ifndef _LINUX_PCI_H
#define _LINUX_PCI_H

struct pci_dev;

/* The last argument came with 6.12.117. */
int pci_resize_resource(struct pci_dev *dev, int i, int size@EXCLUDES@);

#endif

/* SPDX-License-Identifier: MIT */
/* Chakra traces in a program that was built without protobuf-c: they are refused. */
#include "base-error.h"
#include "import-chakra-node.h"
#include "import-chakra.h"

ImportChakraTrace *import_chakra_read(const char *path, GBytes *bytes G_GNUC_UNUSED, GError **error) {
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
              "%s: this foretrain was built without protobuf-c, which Chakra traces are read by; install "
              "libprotobuf-c-dev and protobuf-c-compiler and build it anew (meson setup -Dchakra=enabled)",
              path);
  return NULL;
}

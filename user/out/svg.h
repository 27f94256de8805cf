/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flame graph as one picture: SVG 1.1 that any viewer shows, with the whole name and the time of
 * a frame as its title. In a browser a click zooms, and Ctrl-F marks what matches and tells its
 * share (svg.js). What is narrower than a third of a pixel is not drawn, and the picture says so.
 */
#ifndef GNOMON_OUT_SVG_H
#define GNOMON_OUT_SVG_H

#include <stdio.h>

#include "out/profile.h"

int svg_write(const struct profile *p, const char *title, enum dim dim, FILE *f, struct error *e);

#endif

/* SPDX-License-Identifier: MIT */
/* Random models and recipes, and what Programs of them send and hold: for tests of policies. */
#pragma once

#include "harness.h"
#include "mem-tenant.h"
#include "plan.h"

typedef struct {
  ModelShape shape;
  ModelRecipe model;
  PlanRecipe recipe;
} Drawn;

/* All ranks share; `framework`'s own options are the caller's to set. */
Drawn draw(GRand *random, PlanFramework framework);

Program *draw_plan(const Drawn *drawn);

/* Payload of one operation in a section; scalars (norms) left out. */
guint64 draw_payload(const Program *program, ProgramSectionKind kind, CollOperation operation);

/* Levels in host order, as if every stream passed at once: the peak of one tenant; *level is what is left. */
guint64 draw_walk(const Program *program, ProgramSectionKind kind, MemTenant tenant, gint64 *level);

/* What the first step leaves of a tenant the steady one leaves too. Returns it. */
guint64 draw_settled(const Program *program, MemTenant tenant);

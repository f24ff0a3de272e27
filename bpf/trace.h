/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a stage has to say to who has a packet explained (SPEC 1.17). Only the dry program is compiled with
 * any of it: PT_DRY is a constant, and the live programs do not differ by an instruction.
 */
#ifndef POSTERN_TRACE_H
#define POSTERN_TRACE_H

#include "vocabulary.h"

#if PT_DRY
struct pt_trace pt_trace;
#define pt_tell(field, value) ((void)(pt_trace.field = (value)))
#else
#define pt_tell(field, value) ((void)0)
#endif

#define pt_at(stage_name) pt_tell(stage, PT_AT_##stage_name)
#if PT_DRY
#define pt_would(effect) ((void)(pt_trace.would |= PT_WOULD_##effect))
#define pt_tell_owner(field, owner)       \
  do {                                    \
    if (owner) pt_trace.field = *(owner); \
  } while (0)
#else
#define pt_would(effect) ((void)0)
#define pt_tell_owner(field, owner) ((void)0)
#endif

#endif

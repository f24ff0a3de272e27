/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The packet path once more, compiled to say what it would do with a packet (SPEC 1.17): the same source and,
 * but for the scratch of a CPU, the same tables. It writes into none of them. It is never attached: the agent
 * runs it by BPF_PROG_TEST_RUN and reads pt_trace.
 */
#define PT_DRY 1
#include "gateway.bpf.c"

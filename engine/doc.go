// Package engine holds the four types that every part of sim speaks: Graph (work), Network (capacity), Routes (which
// capacity a piece of work uses) and Trace (what happened). All are plain data with integer ids.
//
// The package knows nothing of GPUs, optics or training. It leaves simulating a graph on a network to its sub-packages
// (flow for fluid rates), building networks to fabric, building graphs to workloads, and choosing between networks to
// policies.
package engine

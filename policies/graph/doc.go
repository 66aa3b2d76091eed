// Package graph holds the algorithms that several policies share: breadth-first and shortest paths from a node, perfect
// matchings and those of largest weight, the least congestion of a multi-commodity flow, and a priority queue.
//
// Nodes and arcs are numbers, and results are slices by them that are used again. Where several answers are as good the
// same one is found in every run. What the graphs stand for, and what is sought in them, is left to the callers.
package graph

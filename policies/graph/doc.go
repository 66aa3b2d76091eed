// Package graph holds the graph algorithms that several policies share:
//
//   - Tree: breadth-first search and shortest paths from a node (Dijkstra);
//   - BidirectionalSearch: a shortest path between two nodes;
//   - Matching: perfect matchings in a bipartite graph; Assignment: with the maximum weight;
//   - MinCongestion: bounds on the congestion of a multi-commodity flow;
//   - Exchanges: local search by exchanges of pairs; Heap: a priority queue.
//
// Nodes and arcs are numbers. Results are slices that are indexed by these numbers and reused by
// the next call. If several results are equally good, every run finds the same one. Start with
// Digraph and Tree in tree.go.
package graph

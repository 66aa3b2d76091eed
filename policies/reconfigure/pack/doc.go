// Package pack schedules the chunks of a collective in slots. In a slot a link carries one
// chunk, and a chunk crosses one link or waits at a GPU (store and forward; Sec. 2.1 of "To
// Reconfigure or Not to Reconfigure", called the paper below).
//
// The package has four layers; begin reading with the lowest one:
//
//   - Scheduler schedules given Paths through one topology. Shortest finds shortest paths
//     in a topology.
//   - Candidates assigns the chunks of unequal demands to paths through given sequences
//     of topologies, so that all phases together take few slots. Chunks of one flow may
//     take several paths, and with relaying they may rest at a GPU across
//     reconfigurations.
//   - Plan builds sequences of topologies that suit a demand and schedules them. It skips
//     sequences whose bound on the slots excludes them from plan.Frontier. Sequences are
//     new or derived from sequences for uniform demand, which sibling packages construct.
//     Search does the same for one number of topologies at a time.
//   - Exhaustive searches all plans of very small problems.
//
// Candidates minimises the sum over phases of the largest link load, which is a lower bound
// on the slots. In practice, few phases need more slots than this load when their chunks
// are scheduled.
package pack

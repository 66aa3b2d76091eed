// Package pack schedules the chunks of a collective in slots: a chunk crosses one link a slot, a link carries one chunk
// a slot, and a chunk may wait at a GPU on its way (store and forward, the paper, Sec. 2.1).
//
//   - A Player schedules given paths through one topology, and Shortest finds shortest paths.
//   - Candidates spread the chunks of unequal demands over the phases and paths of given sequences of topologies, chunks of
//     one flow on several paths, so that all phases together take few slots; with relay a chunk may rest at a GPU across
//     reconfigurations. Slots equal the largest loads, in practice: few phases need more to simulate than their most loaded
//     link carries.
//   - Plan makes sequences that suit the demand, on their own or from those for uniform demand, which its sibling packages
//     construct, and schedules them, but for those that a bound excludes from plan.Frontier beforehand.
package pack

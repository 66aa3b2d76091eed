// Package pack schedules the chunks of a collective in slots: a chunk crosses one link a slot, a link carries one chunk a
// slot, and a chunk may wait at a GPU on its way (store and forward, the paper, Sec. 2.1).
//
//   - Play schedules given walks through one topology, and Shortest finds shortest walks.
//   - Fit and Candidates spread the chunks of unequal demands over the phases and ways of a given sequence of topologies,
//     chunks of one flow on several ways, so that all phases together take few slots; with relay a chunk may rest at a GPU
//     across reconfigurations. Slots equal the largest loads, in practice: few phases need more to play than their most
//     loaded link carries.
//   - Plan makes sequences and schedules them, but for those that a bound excludes from plan.Frontier beforehand.
//   - Relabel and Sequences make sequences that suit an unequal demand, on their own or from those for uniform demand,
//     which its sibling packages construct.
package pack

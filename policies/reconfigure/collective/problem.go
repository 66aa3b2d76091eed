// Package collective plans all-gathers, reduce-scatters and all-reduces on GPUs joined by optical
// switches. A plan states which topologies to set up, and which pieces of the data cross each
// link in each step. The hardware is described in Sec. 2.1 of the paper "To Reconfigure or Not to
// Reconfigure", which itself plans all-to-alls only.
//
// Candidates is the entry point. It returns all plans that are optimal for some reconfiguration
// delay: the frontier over reconfigurations, steps and bytes. Plans belong to three families:
//
//   - Circulants (recipes.go). All GPUs act identically, shifted by their number, so one broadcast on Z_n
//     describes an all-gather (broadcast.go, stage.go). Stages on a chain of subgroups of Z_n follow
//     each other (chain.go).
//   - Broadcast trees from every GPU on other topologies (treeplans.go, trees.go): generalised Kautz
//     graphs, line digraphs and affine graphs (graphs.go, linedigraph.go, affinesearch.go). They need
//     fewer steps than circulants.
//   - Folds of an all-reduce on a de Bruijn or Kautz graph (fold.go).
//
// A reduce-scatter is an all-gather in reverse. An all-reduce is both, or exchanges whole vectors
// in between. Bound returns a lower bound on the cost of any plan. Package plan defines and
// verifies the form of plans, and sibling packages plan all-to-alls.
package collective

import "sim/policies/reconfigure/plan"

// Problem is a collective call of n GPUs with k links out of and into each.
type Problem = plan.Collective

// maxParts limits the parts of a shard, and thereby the pieces of plans. With more links than this,
// a shard is a single part, and links may carry unequal numbers of shards.
const maxParts = 64

// shardParts returns the number of parts of a shard. It is k, so that any number of shards can be
// divided evenly among k links, or 1 if a part would be less than a byte.
func shardParts(p *Problem) int32 {
	if p.Degree > maxParts || p.Bytes/int64(p.GPUs) < int64(p.Degree) {
		return 1
	}
	return int32(p.Degree)
}

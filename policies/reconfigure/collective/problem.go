// Package collective plans all-gather, reduce-scatter and all-reduce on GPUs joined by optical switches: which
// topologies to set up, and which pieces of the data cross which link in each step (the hardware is that of the paper
// on reconfiguring during a collective, Sec. 2.1; the paper itself plans all-to-all alone).
//
// Plans on circulants are shift-invariant: what GPU u does is what GPU 0 does, renamed by +u. An all-gather is a way
// for one shard to reach all of Z_n (stage.go); stages on the quotients of a chain of subgroups of Z_n follow each
// other (chain.go); a reduce-scatter is an all-gather run backwards, and an all-reduce both, or, in its middle, an
// exchange of whole vectors (all.go). Any topology serves for broadcast trees from every GPU (trees.go, grown.go):
// generalised Kautz graphs, line digraphs and affine graphs, alone or one after the other (graphs.go, forest.go), reach
// all in fewer steps than circulants do. A de Bruijn or Kautz graph folds an all-reduce into as many steps as it has
// digits (fold.go). The frontier over reconfigurations, steps and bytes is kept whole, so that every delay picks its
// best.
//
// The package leaves all-to-all to its siblings, the plan's form and its check to package plan, and time to the
// engines.
package collective

import "sim/policies/reconfigure/plan"

// Problem is a collective of n GPUs with k links out of and into each.
type Problem = plan.Collective

// maxParts is the highest degree at which shards are cut so that links can share one evenly.
const maxParts = 64

// shardParts is into how many parts a shard is cut: k, so that any number of shards can be spread evenly over k links,
// else 1 where a part would be less than a byte.
func shardParts(p *Problem) int32 {
	if p.Degree > maxParts || p.Bytes/int64(p.GPUs) < int64(p.Degree) {
		return 1
	}
	return int32(p.Degree)
}

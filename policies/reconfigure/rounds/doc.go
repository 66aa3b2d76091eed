// Package rounds is the construction of the paper on reconfiguring during a collective (Secs. 3 and 4), in its round
// model: a round routes flows over paths of at most h hops so that no link is used twice in one of its h steps, and
// costs h slots a chunk.
//
// From a base topology it makes one more topology at a time: by shifting at degree 1 (Sec. 4.3), else by contracting a
// round of the schedule so far, from a circulant and from a generalised Kautz base (Sec. 4.2). For unequal flows it
// relabels the GPUs so that large flows share rounds (Sec. 4.4). The chunks then run round by round, or all flows of a
// topology at once with the chunk of the smallest index first (Sec. 5.1), which package pack simulates.
//
// What the paper leaves open and how it is read here:
//
//   - A path takes any shortest path that fits into a round, and where topologies offer equally few hops any of them:
//     the earliest round in which one is free. Only what GenKautz lists and keeps is drawn by seed, as in the paper.
//   - Every further schedule is the better of two: the contraction as the paper words it, which saves the hops of the
//     contracted round less the one slot of its new way (and less what flows that keep their way still take), and all
//     paths packed anew over all topologies, which is mostly better but not always. So a topology more never costs slots.
//   - Of several longest rounds that one is contracted whose contraction leaves the fewest slots; up to 8 are tried, those
//     with most paths first. Ports that its flows leave free take the flows of the next longest rounds. A flow that would
//     be one too many into its destination keeps its way.
//   - The offsets of the circulant base at degree k are those of the smallest m whose cross-polytope of radius m holds n
//     points of Z^k, which is the paper's 2m^2+2m+1 >= n at k = 2.
//
// Work is limited by counts, never by time, so that large domains stay within seconds and results do not depend on the
// machine: see tieWork and packWork (topologies), playWork and playAll (chunks by index), swapWork (relabelling), and
// the patience with GenKautz in evaluator.chain.
package rounds

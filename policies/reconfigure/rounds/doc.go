// Package rounds is the construction of the paper "To Reconfigure or Not to Reconfigure"
// (Secs. 3 and 4) in its round model. A round routes flows over paths of at most h hops so
// that no link is used twice in one of its h steps. It takes h slots per chunk.
//
// The construction starts with a base topology and adds one topology at a time. At degree 1
// it adds shifts (Sec. 4.3). At higher degrees it contracts a round of the schedule so far,
// starting from a circulant base and from a generalised Kautz base (Sec. 4.2). For unequal
// flows it relabels the GPUs so that large flows share rounds (Sec. 4.4). The chunks then
// run round by round. Alternatively all flows of a topology start together and links prefer
// the smallest chunk index (Sec. 5.1), which package pack simulates.
//
// Begin reading at Candidates, and then contractionChain and roundSchedule. Search is the
// same for one number of topologies at a time.
//
// The paper leaves some points open. This package reads them as follows:
//
//   - A path is any shortest path that fits into a round, over any of the topologies with
//     equally few hops: the path with the earliest free round. Only the paths selected
//     from the listing of GenKautz are drawn by seed, as in the paper.
//   - Each further schedule is the better of two. The contraction in the paper's words
//     saves the hops of the contracted round minus the one slot of its new path, and
//     minus the hops of flows that keep their path. Packing all paths again over all
//     topologies is usually better, but not always. So an additional topology never costs
//     slots.
//   - Of several longest rounds, the one whose contraction leaves the lowest number of
//     slots is contracted. Up to 8 are tried, in decreasing order of paths. Ports that
//     its flows do not use take flows of the next longest rounds. A flow that would
//     exceed the ports of its destination keeps its path.
//   - The offsets of the circulant base at degree k are m .. m+k-1 for the smallest m for
//     which the cross-polytope of radius m contains n points of Z^k. This is the paper's
//     2m^2+2m+1 >= n at k = 2.
//
// Work is limited by counts and never by time. Large domains therefore take seconds, and
// results do not depend on the machine. The limits are maxTieWork and maxPackWork
// (topologies), maxSimulationWork and maxTotalSimulationWork (chunks by index), maxSwapWork
// (relabelling), and maxFailures in scheduleEvaluator.evaluateChain (GenKautz).
package rounds

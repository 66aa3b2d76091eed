// Package rounds is the construction of the paper "To Reconfigure or Not to Reconfigure"
// (Secs. 3 and 4) in its round model. A round routes flows over paths of at most h hops so
// that no link is used twice in one of its h steps. It takes h slots per chunk.
//
// The construction starts with a base topology and adds one topology at a time. At degree 1
// it adds shifts (Sec. 4.3). At higher degrees it contracts one round of the schedule so far:
// direct links of the new topology replace the paths of the flows in this round. The base is
// a circulant or a generalised Kautz topology (Sec. 4.2). For unequal flows it relabels the
// GPUs so that large flows share rounds (Sec. 4.4). The chunks then run round by round.
// Alternatively all flows of a topology start together and links prefer the smallest chunk
// index (Sec. 5.1), which package pack simulates.
//
// Begin reading at Candidates, and then contractionChain and roundSchedule. Search is the
// same for one number of topologies at a time.
//
// The paper leaves some points open. This package reads them as follows:
//
//   - A flow has a path with the minimum number of hops over all topologies so far. Of
//     these paths it takes the first one that is free: by topology, and then by round
//     (contractionChain.packAll). For the base GenKautz, the selection of the paper is
//     tried too: all its shortest paths are listed with their rounds (listKautzPaths), and
//     one per flow is drawn by seed (kautzBase). The schedule with fewer slots is kept.
//   - Each further schedule is the better of two: the contraction of one round, and a new
//     packing of all paths over all topologies. A contraction saves at least h - 1 - h'
//     slots. h is the number of hops of the contracted round, and 1 the slot of the new
//     links. h' is the largest number of hops of its flows that keep their path, 0 without
//     such flows. At most k flows of h hops start, and at most k end, at a GPU of degree k,
//     and they get the new links first. So h' is less than h, and an additional topology
//     never costs slots. The new packing is usually better, but not always.
//   - The contracted round has the maximum number of hops. If several rounds have it, up to
//     8 (maxTies) are tried, in decreasing order of paths. The one whose contraction leaves
//     the lowest number of slots is chosen. Ports that the flows of the round do not use
//     take flows of the next longest rounds. A flow that would exceed the ports of its
//     destination keeps its path.
//   - The offsets of the circulant base at degree k are m .. m+k-1 for the smallest m for
//     which the cross-polytope of radius m contains n points of Z^k. This is the paper's
//     2m^2+2m+1 >= n at k = 2.
//
// Work is limited by counts of operations and never by time, so results do not depend on
// the speed of the machine. With these limits, large domains take seconds. The limits are
// maxTieWork and maxPackWork (topologies), maxSimulationWork and maxTotalSimulationWork
// (chunks by index), maxSwapWork (relabelling), and maxFailures in
// scheduleEvaluator.evaluateChain (GenKautz).
package rounds

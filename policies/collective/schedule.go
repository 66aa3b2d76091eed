package collective

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sim/engine"
)

// Schedule is a collective call as a list of transfers with dependencies. A transfer only depends
// on earlier ones.
type Schedule struct {
	Call
	Transfers []Transfer
	// IsPipelined reports whether all transfers are sent at the same time, Delay after all ranks
	// are ready. Each is the flow of many small chunks, so that it has no Spans and no After.
	IsPipelined bool
	Delay       engine.Time

	spans     []Span  // of all transfers; see Spans
	after     []int32 // dependencies of all transfers; see After
	rankLinks *linkTable
	// gatherWaits are further dependencies of an all-reduce. For the first transfer that gathers
	// from a rank, they are the last transfers of each stream that scatter to this rank; see
	// builder.sendPhases.
	gatherWaits map[int32][]int32
	classes     *transferClasses // nil unless transfers stand for classes; see ExpandClasses
}

// Transfer moves some of the vector from one rank to another.
type Transfer struct {
	Src, Dst int32 // ranks
	// Link is a link from Src to Dst, or -1 if a router chooses the path.
	Link int32
	// KeepsOrder reports whether links serve it in the order of the schedule, which list
	// scheduling has optimised.
	KeepsOrder bool
	// Reduce reports whether the destination adds the data to its own; otherwise it
	// overwrites.
	Reduce bool
	// Previous is the transfer that its link or source sends before it, or -1.
	Previous int32
	Bytes    int64

	// span and after are the first indices of the transfer in Schedule.spans and Schedule.after.
	// The indices of the next transfer are the ends.
	span, after int32
	stream      int32 // see builder.stream
}

// Spans returns the byte ranges of the vector that transfer i moves, in order. The caller must
// not change them.
func (s *Schedule) Spans(i int) []Span {
	end := len(s.spans)
	if i+1 < len(s.Transfers) {
		end = int(s.Transfers[i+1].span)
	}
	return s.spans[s.Transfers[i].span:end]
}

// After returns the transfers that must have arrived before transfer i starts, in order. These
// deliver the data that it moves, or still read the data that it overwrites. The caller must not
// change them.
func (s *Schedule) After(i int) []int32 {
	end := len(s.after)
	if i+1 < len(s.Transfers) {
		end = int(s.Transfers[i+1].after)
	}
	return s.after[s.Transfers[i].after:end]
}

// subCall is a call among some ranks: the whole call, the call of a team, or a part that a
// hierarchical algorithm delegates. A member is an index in ranks.
type subCall struct {
	kind  Kind
	ranks []int32 // the rank of each member
	// data is the vector of an all-reduce, broadcast, reduce or send-receive.
	data data
	// blocks is the block of each member in a reduce-scatter or all-gather.
	blocks     []data
	pairBlock  func(from, to int) data // the block between two members of an all-to-all
	root, peer int                     // members
}

// builder makes a schedule. Algorithms call its send methods in an order that is valid one after
// the other. The builder derives which transfers must wait for each other.
type builder struct {
	*Schedule
	problem    *Problem
	options    Options
	algorithms []Row          // the choice of hierarchical algorithms
	histories  []writeHistory // of the data at each rank
	lists      transferLists  // storage of the lists in histories
	// stream is the part of an algorithm that sends the next transfers. Transfers of different
	// streams between the same ranks do not wait for each other.
	stream     int32
	keepsOrder bool // Transfer.KeepsOrder of the next transfers
	// lastScatters is indexed by rank. While streams gather, it is the last transfer of each stream
	// that scatters to the rank. Otherwise it is nil.
	lastScatters [][]int32

	ctx context.Context // argument of Expand
	err error           // the first error; further transfers are ignored

	// visit is the argument of Count, called instead of storing a transfer; nil for Expand.
	visit   func(src, dst int32) error
	visited int // number of calls of visit

	folder *transferFolder // stores a transfer per class; nil unless for ExpandClasses
}

// MaxTransfers limits the transfers of a schedule. With their tasks they take about 2 GB.
const MaxTransfers = 1 << 24

// newBuilder returns a builder with an empty schedule.
func newBuilder(ctx context.Context, p *Problem, o Options) *builder {
	b := &builder{
		Schedule: &Schedule{
			Call:        p.Call,
			rankLinks:   newLinkTable(p),
			gatherWaits: map[int32][]int32{},
		},
		ctx:        ctx,
		problem:    p,
		options:    o,
		algorithms: Table,
		histories:  make([]writeHistory, len(p.Group)),
	}

	// Each rank starts with one segment, which no transfer has accessed.
	for r := range b.histories {
		b.histories[r] = make(writeHistory, 1)
	}
	return b
}

// teamCall returns the call of the team with ranks from <= rank < to.
func (b *builder) teamCall(from, to int) *subCall {
	c := &b.Call
	j := &subCall{kind: c.Kind, data: c.vector(to - from), root: c.Root, peer: c.Peer}
	var block func(int) data
	j.pairBlock, block = c.blocks(to - from)
	for member := range to - from {
		j.ranks = append(j.ranks, int32(from+member))
		if block != nil {
			j.blocks = append(j.blocks, block(member))
		}
	}

	return j
}

// send appends a transfer between two ranks, over a link that joins them if there is one. With
// reduce, the destination adds the data to its own; otherwise it overwrites.
func (b *builder) send(src, dst int32, d data, reduce bool) {
	b.sendOver(b.rankLinks.links[[2]int32{src, dst}], src, dst, d, reduce)
}

// sendOnAnyPath appends the only message between two ranks at a time. Unless a single link joins the
// ranks, the router chooses the path, also among parallel links.
func (b *builder) sendOnAnyPath(src, dst int32, d data, reduce bool) {
	links := b.rankLinks.links[[2]int32{src, dst}]
	if len(links) > 1 {
		links = nil
	}
	b.sendOver(links, src, dst, d, reduce)
}

// sendOver appends a transfer over one of the parallel links, or over a routed path if there are
// none. Schedule.assignLinks chooses the link later.
func (b *builder) sendOver(parallel []int32, src, dst int32, d data, reduce bool) {
	if b.visit != nil {
		b.visitTransfer(src, dst, d)
		return
	}
	if b.folder != nil {
		b.folder.add(b, src, dst, d, reduce)
		return
	}

	// Now and then, the context may have ended. After an error, nothing is appended.
	id := int32(len(b.Transfers))
	if id%(1<<12) == 0 && b.err == nil {
		b.err = b.ctx.Err()
	}
	if id == MaxTransfers && b.err == nil {
		b.err = fmt.Errorf("%w: %s among %d ranks takes more than %d transfers; want fewer ranks or larger chunks", ErrUnserved, b.Kind, len(b.Group), MaxTransfers)
	}
	if len(d) == 0 || src == dst || b.err != nil {
		return
	}

	// assignLinks sets Link, unless no link joins the ranks, and Previous.
	t := Transfer{
		Src:        src,
		Dst:        dst,
		Link:       -1,
		KeepsOrder: b.keepsOrder,
		Reduce:     reduce,
		Previous:   -1,
		Bytes:      d.bytes(),
		span:       int32(len(b.spans)),
		after:      int32(len(b.after)),
		stream:     b.stream,
	}

	waits := b.recordWaits(&t, d, id)
	if g := b.gatherWaitsOf(src, waits); g != nil {
		b.gatherWaits[id] = g
	}

	if len(parallel) > 0 {
		t.Link = parallel[0]
	}
	b.spans = append(b.spans, d...)
	b.Transfers = append(b.Transfers, t)
}

// sendFlow appends the flow of all data that one rank sends to another in a pipeline.
func (b *builder) sendFlow(src, dst int32, bytes int64) {
	if b.visit != nil {
		b.visitTransfer(src, dst, data{{0, bytes}})
		return
	}
	if len(b.Transfers) == MaxTransfers && b.err == nil {
		b.err = fmt.Errorf("%w: %s among %d ranks takes more than %d transfers; want fewer ranks", ErrUnserved, b.Kind, len(b.Group), MaxTransfers)
	}
	if b.err != nil {
		return
	}
	link := int32(-1)
	if links := b.rankLinks.links[[2]int32{src, dst}]; len(links) == 1 {
		link = links[0]
	}
	b.Transfers = append(b.Transfers, Transfer{
		Src: src, Dst: dst, Link: link, Previous: -1, Bytes: bytes, span: int32(len(b.spans)), after: int32(len(b.after)),
	})
}

// recordWaits notes that transfer id, of data d, accesses its source and destination. It appends to
// b.after the transfers that it must wait for, in order, each once, and returns them.
func (b *builder) recordWaits(t *Transfer, d data, id int32) []int32 {

	// The source is read, and the destination is written.
	write := accessOverwrite
	if t.Reduce {
		write = accessAdd
	}
	for _, s := range d {
		b.record(t.Src, s, accessRead, id)
		b.record(t.Dst, s, write, id)
	}

	// Keep each dependency once.
	waits := b.after[t.after:]
	slices.Sort(waits)
	waits = slices.Compact(waits)
	b.after = b.after[:int(t.after)+len(waits)]
	return waits
}

// gatherWaitsOf returns the further dependencies of a transfer that waits for the given ones; see
// Schedule.gatherWaits. Only the first gathering transfers of a rank have any: these depend on no
// gathering transfer.
func (b *builder) gatherWaitsOf(src int32, waits []int32) []int32 {
	isGather := func(w int32) bool { return !b.Transfers[w].Reduce }
	if b.lastScatters == nil || slices.ContainsFunc(waits, isGather) {
		return nil
	}
	return b.lastScatters[src]
}

// sendPhases sends the transfers of an algorithm that works in streams. If scatters, scatter(k)
// sends the scattering transfers of stream k. If gathers, gather(k) sends its gathering
// transfers.
//
// The streams of an all-reduce may scatter for different times. A rank starts to gather when all
// streams have scattered to it. Otherwise streams that gather would share links with others that
// still scatter, and the all-reduce would take longer than a reduce-scatter and an all-gather.
func (b *builder) sendPhases(streams int, scatters, gathers bool, scatter, gather func(k int)) {
	// each sends the transfers of one kind for all streams. The streams are numbered from base.
	base, start := b.stream, len(b.Transfers)
	each := func(send func(k int)) {
		for k := range streams {
			b.stream = base + int32(k)
			send(k)
		}
	}

	if scatters {
		each(scatter)
	}

	// Find the transfers that gathering ranks wait for: per rank and stream the last that scatters.
	if scatters && gathers {
		b.lastScatters = make([][]int32, len(b.histories))
		if b.folder != nil {
			b.folder.findLastScatters(b.lastScatters, base)
		} else {
			b.findLastScatters(start)
		}
	}

	if gathers {
		each(gather)
	}
	b.lastScatters = nil
	b.stream = base + int32(streams)
}

// findLastScatters sets lastScatters, by the transfers from index start.
func (b *builder) findLastScatters(start int) {
	found := map[[2]int32]bool{} // by rank and stream
	for i, t := range slices.Backward(b.Transfers[start:]) {
		if k := [2]int32{t.Dst, t.stream}; !found[k] {
			found[k] = true
			b.lastScatters[t.Dst] = append(b.lastScatters[t.Dst], int32(start+i))
		}
	}
}

// visitTransfer passes a transfer to visit without storing it.
func (b *builder) visitTransfer(src, dst int32, d data) {
	if len(d) == 0 || src == dst || b.err != nil {
		return
	}
	if b.visited++; b.visited%(1<<12) == 0 {
		b.err = b.ctx.Err()
	}
	if b.err == nil {
		b.err = b.visit(src, dst)
	}
}

// writeHistory lists the transfers that last wrote and read the bytes of a rank, as consecutive
// segments of the vector.
type writeHistory []byteSegment

// byteSegment is a range of bytes that the same transfers have written and read. It ends where
// the next segment begins; the last one has no end.
type byteSegment struct {
	from int64 // offset of the first byte in the vector
	// writes are the transfers that wrote the current content. reads are the transfers that have
	// read it since, and writesAtRead is writes at the time of the last read.
	writes, reads, writesAtRead transferList
}

// transferList is a list of transfers, the latest first. It is an index in transferLists, counted
// from 1; 0 is the empty list.
type transferList int32

// transferLists stores the elements of transferLists. Lists share their tails.
type transferLists []struct {
	id   int32
	rest transferList
}

// push returns l with transfer id in front.
func (z *transferLists) push(id int32, l transferList) transferList {
	*z = append(*z, struct {
		id   int32
		rest transferList
	}{id, l})
	return transferList(len(*z))
}

// appendUntil appends to a slice the transfers of l before end, which is 0 or a rest of l.
func (z transferLists) appendUntil(end, l transferList, to []int32) []int32 {
	for l != end {
		to = append(to, z[l-1].id)
		l = z[l-1].rest
	}
	return to
}

// accessKind is how a transfer uses bytes of a rank.
type accessKind uint8

const (
	accessRead      accessKind = iota // the source sends the bytes
	accessAdd                         // the destination adds to the bytes
	accessOverwrite                   // the destination replaces the bytes
)

// record notes that transfer id accesses a span of a rank, and appends to b.after the earlier
// transfers that it must wait for.
//
// A read waits for the writes of the content. An addition waits for the reads of the previous
// content, but not for other additions, since sums may arrive in any order. An overwrite waits
// for both.
func (b *builder) record(rank int32, s Span, how accessKind, id int32) {
	// A segment must begin where the span begins.
	v := &b.histories[rank]
	k := v.find(s.From)
	if k == len(*v) || (*v)[k].from != s.From {
		v.split(k, s.From)
	}

	// Split segments at the ends of the span, and treat each segment in it.
	for ; (*v)[k].from < s.To; k++ {
		if k+1 == len(*v) || (*v)[k+1].from > s.To {
			v.split(k+1, s.To)
		}
		z := &(*v)[k]
		switch how {
		case accessRead:
			b.after = b.lists.appendUntil(0, z.writes, b.after)
			z.reads = b.lists.push(id, z.reads)
			z.writesAtRead = z.writes
		case accessAdd:
			b.after = b.lists.appendUntil(0, z.reads, b.after)
			z.writes = b.lists.push(id, z.writes)
		case accessOverwrite:
			// The last read already waits for earlier writes.
			b.after = b.lists.appendUntil(0, z.reads, b.after)
			b.after = b.lists.appendUntil(z.writesAtRead, z.writes, b.after)
			z.writes = b.lists.push(id, 0)
			z.reads, z.writesAtRead = 0, 0
		}
	}
}

// find returns the index of the first segment that begins at an offset or behind it. It is
// written out because schedules of a million transfers spend much of their time here, and
// slices.BinarySearchFunc would take twice as long.
func (v writeHistory) find(offset int64) int {
	from, to := 0, len(v)
	for from < to {
		if mid := (from + to) / 2; v[mid].from < offset {
			from = mid + 1
		} else {
			to = mid
		}
	}

	return from
}

// splitHistories splits the histories of ranks at all parts of the members in each of some rings,
// before their first transfer. Splits one by one would take time in proportion to the cube of the
// ranks: 5 of 8 seconds for a ring of 2,048.
func (b *builder) splitHistories(ranks []int32, rings int, part func(k int) func(member int32) data) {
	var all writeHistory
	for k := range rings {
		partOf := part(k)
		for member := range ranks {
			for _, s := range partOf(int32(member)) {
				all = append(all, byteSegment{from: s.From}, byteSegment{from: s.To})
			}
		}
	}
	slices.SortFunc(all, func(a, b byteSegment) int { return cmp.Compare(a.from, b.from) })
	all = slices.Compact(all)
	for _, r := range ranks {
		if len(b.histories[r]) == 1 { // nothing has been sent
			b.histories[r] = slices.Clone(all)
			b.histories[r][0].from = 0
		}
	}
}

// split inserts segment k, a copy of the previous one that begins at offset.
func (v *writeHistory) split(k int, offset int64) {
	segment := (*v)[k-1]
	segment.from = offset
	*v = slices.Insert(*v, k, segment)
}

// linkTable finds the links between ranks.
type linkTable struct {
	network *engine.Network
	// links are the links that are up, by source and destination rank.
	links map[[2]int32][]int32
	// neighbours is indexed by rank: ranks that a link in either direction joins with it, in order.
	neighbours [][]int32
	parallel   bool // whether several links lead from some rank to another
}

// newLinkTable returns the table of all links that are up and join two ranks.
func newLinkTable(p *Problem) *linkTable {
	z := &linkTable{
		network:    p.Network,
		links:      map[[2]int32][]int32{},
		neighbours: make([][]int32, len(p.Group)),
	}

	// k is the pair of ranks that a link joins.
	rank := nodeRanks(p)
	for i, l := range p.Network.Links {
		if l.Rate > 0 && l.From >= 0 && l.To >= 0 && l.From != l.To && rank[l.From] >= 0 &&
			rank[l.To] >= 0 {
			k := [2]int32{rank[l.From], rank[l.To]}
			z.links[k] = append(z.links[k], int32(i))
			z.parallel = z.parallel || len(z.links[k]) > 1
			z.neighbours[k[0]], z.neighbours[k[1]] = append(z.neighbours[k[0]],
				k[1]), append(z.neighbours[k[1]], k[0])
		}
	}

	for r := range z.neighbours {
		slices.Sort(z.neighbours[r])
		z.neighbours[r] = slices.Compact(z.neighbours[r])
	}
	return z
}

// nodeRanks returns the rank of each node, or -1 for a node without a rank.
func nodeRanks(p *Problem) []int32 {
	rank := slices.Repeat([]int32{-1}, int(p.Network.Nodes))
	for r, a := range p.Group {
		rank[a] = int32(r)
	}
	return rank
}

// link returns the first link from one rank to another, or -1 if no link joins them.
func (z *linkTable) link(src, dst int32) int32 {
	if links := z.links[[2]int32{src, dst}]; len(links) > 0 {
		return links[0]
	}
	return -1
}

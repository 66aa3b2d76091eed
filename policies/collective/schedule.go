package collective

import (
	"context"
	"fmt"
	"slices"

	"sim/engine"
)

// Schedule is a call as transfers, each after those that it waits for.
type Schedule struct {
	Call
	Transfers []Transfer

	spans     []Span
	after     []int32
	rankLinks *linkTable
	// gatherWaits is by transfer, of the first ones of a rank that gather in an all-reduce, the last ones of each stream that
	// scatter to the rank. See builder.phases.
	gatherWaits map[int32][]int32
}

// Transfer moves some of the vector from one rank to another.
type Transfer struct {
	Src, Dst int32 // ranks
	// Link is the link between them that it takes, -1 where it goes as it is routed.
	Link     int32
	Planned  bool  // the link serves it in the order of the schedule, which was chosen with all links in view
	Reduce   bool  // it is added to what the destination has, and else takes its place
	Previous int32 // the transfer that its link or source sends before it, -1 for none
	Bytes    int64

	span, after int32 // where they begin; they end where those of the next transfer begin
	stream      int32 // see builder.stream
}

// Spans returns the ranges of the vector that transfer i moves, in order. Read only.
func (s *Schedule) Spans(i int) []Span {
	end := len(s.spans)
	if i+1 < len(s.Transfers) {
		end = int(s.Transfers[i+1].span)
	}
	return s.spans[s.Transfers[i].span:end]
}

// After returns the transfers that must have arrived before transfer i begins, in order: those that bring what it moves,
// and those that need what it overwrites. Read only.
func (s *Schedule) After(i int) []int32 {
	end := len(s.after)
	if i+1 < len(s.Transfers) {
		end = int(s.Transfers[i+1].after)
	}
	return s.after[s.Transfers[i].after:end]
}

// subCall is a call among some ranks, or a part of one.
type subCall struct {
	kind       Kind
	ranks      []int32
	data       data                    // of all-reduce, broadcast, reduce and send/receive
	blocks     []data                  // by place in ranks, of reduce-scatter and all-gather
	pairBlock  func(from, to int) data // by places, of all-to-all
	root, peer int                     // places
}

// builder makes a schedule.
type builder struct {
	*Schedule
	problem    *Problem
	options    Options
	algorithms []Row          // that hierarchical algorithms choose from
	histories  []writeHistory // by rank
	lists      transferLists  // of transfers
	// stream tells transfers apart that do not wait for each other though they have the same ends, since they belong to
	// parts of an algorithm that work side by side.
	stream       int32
	planned      bool      // of the transfers that follow
	lastScatters [][]int32 // by rank: the last transfers of each stream that scatter to it, while streams gather; else nil

	ctx context.Context // of Expand
	err error           // why nothing more is sent

	visit   func(src, dst int32) error // takes each transfer, of which none is kept then; nil to keep all
	visited int                        // transfers that each has taken
}

// MaxTransfers is the most transfers of a schedule, some 2 GB with the tasks that they become.
const MaxTransfers = 1 << 24

func newBuilder(ctx context.Context, p *Problem, o Options) *builder {
	b := &builder{
		Schedule: &Schedule{Call: p.Call, rankLinks: newLinkTable(p), gatherWaits: map[int32][]int32{}}, ctx: ctx, problem: p, options: o, algorithms: Table,
		histories: make([]writeHistory, len(p.Group)),
	}
	for r := range b.histories {
		b.histories[r] = make(writeHistory, 1)
	}
	return b
}

// teamCall returns the call of a team, of ranks from up to to.
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

// send appends a transfer between ranks, over a link that joins them if there is one. The transfers that it waits for
// follow from the data that earlier transfers have moved.
func (b *builder) send(src, dst int32, d data, reduce bool) {
	b.sendOver(b.rankLinks.links[[2]int32{src, dst}], src, dst, d, reduce)
}

// sendRouted is send of the only message between two ranks at a time. If several links join them, the router decides
// which one carries it, as it does for pairs that none joins.
func (b *builder) sendRouted(src, dst int32, d data, reduce bool) {
	links := b.rankLinks.links[[2]int32{src, dst}]
	if len(links) > 1 {
		links = nil
	}
	b.sendOver(links, src, dst, d, reduce)
}

// sendOver is send over one of some parallel links, or as it is routed if there are none. Schedule.assign chooses the link.
func (b *builder) sendOver(parallel []int32, src, dst int32, d data, reduce bool) {
	if b.visit != nil {
		b.visitTransfer(src, dst, d)
		return
	}
	id := int32(len(b.Transfers))
	if id%(1<<12) == 0 && b.err == nil {
		b.err = b.ctx.Err()
	}
	if id == MaxTransfers && b.err == nil {
		b.err = fmt.Errorf("%w: %s among %d ranks in more than %d transfers; want fewer ranks or larger chunks", ErrUnserved, b.Kind, len(b.Group), MaxTransfers)
	}
	if len(d) == 0 || src == dst || b.err != nil {
		return
	}
	t := Transfer{Src: src, Dst: dst, Link: -1, Planned: b.planned, Reduce: reduce, Previous: -1, Bytes: d.bytes(), span: int32(len(b.spans)), after: int32(len(b.after)), stream: b.stream}
	for _, s := range d {
		b.record(src, s, accessRead, id)
		how := accessOverwrite
		if reduce {
			how = accessAdd
		}
		b.record(dst, s, how, id)
	}
	waits := b.after[t.after:]
	if b.lastScatters != nil && !slices.ContainsFunc(waits, func(w int32) bool { return !b.Transfers[w].Reduce }) {
		b.gatherWaits[id] = b.lastScatters[src]
	}
	slices.Sort(waits)
	b.after = b.after[:int(t.after)+len(slices.Compact(waits))]
	if len(parallel) > 0 {
		t.Link = parallel[0]
	}
	b.spans = append(b.spans, d...)
	b.Transfers = append(b.Transfers, t)
}

// sendPhases sends the transfers of streams: if scatters, scatter(k) sends those of stream k that scatter, and if gathers,
// gather(k) those that gather. In an all-reduce the streams may scatter for different times. A rank begins to gather when
// all streams have scattered to it, so that neither half takes longer than a reduce-scatter or an all-gather alone because
// streams of the other half share its links.
func (b *builder) sendPhases(streams int, scatters, gathers bool, scatter, gather func(k int)) {
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
	if scatters && gathers {
		b.lastScatters = make([][]int32, len(b.histories))
		seen := map[[2]int32]bool{} // by rank and stream
		for i, t := range slices.Backward(b.Transfers[start:]) {
			if k := [2]int32{t.Dst, t.stream}; !seen[k] {
				seen[k] = true
				b.lastScatters[t.Dst] = append(b.lastScatters[t.Dst], int32(start+i))
			}
		}
	}
	if gathers {
		each(gather)
	}
	b.lastScatters, b.stream = nil, base+int32(streams)
}

// visitTransfer passes a transfer to each, and keeps nothing of it.
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

// writeHistory is what transfers have done with the bytes of a rank.
type writeHistory []byteSegment

// byteSegment is bytes of which transfers have done the same, up to those of the next or without end.
type byteSegment struct {
	from int64
	// writes are the transfers that brought what it holds, reads those that have taken it from there since.
	writes, reads transferList
}

// transferList is a list of transfers, the last one first: its place in lists, counted from 1; 0 of one that is empty.
type transferList int32

// transferLists holds lists, which share what follows in them.
type transferLists []struct {
	id   int32
	rest transferList
}

// push returns l with one more.
func (z *transferLists) push(id int32, l transferList) transferList {
	*z = append(*z, struct {
		id   int32
		rest transferList
	}{id, l})
	return transferList(len(*z))
}

// appendAfter appends the transfers of l that come after one.
func (z transferLists) appendAfter(one int32, l transferList, to []int32) []int32 {
	for l > 0 && z[l-1].id > one {
		to = append(to, z[l-1].id)
		l = z[l-1].rest
	}
	return to
}

type accessKind uint8

const (
	accessRead accessKind = iota
	accessAdd
	accessOverwrite
)

// record notes what transfer id does with a span of a rank, and adds the transfers that must come before to after.
func (b *builder) record(rank int32, s Span, how accessKind, id int32) {
	v := &b.histories[rank]
	k := v.find(s.From)
	if k == len(*v) || (*v)[k].from != s.From {
		v.split(k, s.From)
	}
	for ; (*v)[k].from < s.To; k++ {
		if k+1 == len(*v) || (*v)[k+1].from > s.To {
			v.split(k+1, s.To)
		}
		z := &(*v)[k]
		switch how {
		case accessRead:
			b.after = b.lists.appendAfter(-1, z.writes, b.after)
			z.reads = b.lists.push(id, z.reads)
		case accessAdd:
			b.after = b.lists.appendAfter(-1, z.reads, b.after)
			z.writes = b.lists.push(id, z.writes)
		case accessOverwrite:
			b.after = b.lists.appendAfter(-1, z.reads, b.after)
			last := int32(-1)
			if z.reads > 0 { // it waits for what was written before it
				last = b.lists[z.reads-1].id
			}
			b.after = b.lists.appendAfter(last, z.writes, b.after)
			z.writes, z.reads = b.lists.push(id, 0), 0
		}
	}
}

// find returns the first segment that begins at a byte or behind it. Schedules of a million transfers spend much of
// their time here, which slices.BinarySearchFunc would double.
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

// split has segment k begin at a byte of the one before.
func (v *writeHistory) split(k int, offset int64) {
	segment := (*v)[k-1]
	segment.from = offset
	*v = slices.Insert(*v, k, segment)
}

// linkTable is the links that join ranks.
type linkTable struct {
	network    *engine.Network
	links      map[[2]int32][]int32 // by ranks from and to, those that are up
	neighbours [][]int32            // by rank: those that a link joins it with, in order
	parallel   bool                 // several links lead from some rank to another
}

func newLinkTable(p *Problem) *linkTable {
	z := &linkTable{network: p.Network, links: map[[2]int32][]int32{}, neighbours: make([][]int32, len(p.Group))}
	rank := nodeRanks(p)
	for i, l := range p.Network.Links {
		if l.Rate > 0 && l.From >= 0 && l.To >= 0 && l.From != l.To && rank[l.From] >= 0 && rank[l.To] >= 0 {
			k := [2]int32{rank[l.From], rank[l.To]}
			z.links[k] = append(z.links[k], int32(i))
			z.parallel = z.parallel || len(z.links[k]) > 1
			z.neighbours[k[0]], z.neighbours[k[1]] = append(z.neighbours[k[0]], k[1]), append(z.neighbours[k[1]], k[0])
		}
	}
	for r := range z.neighbours {
		slices.Sort(z.neighbours[r])
		z.neighbours[r] = slices.Compact(z.neighbours[r])
	}
	return z
}

// nodeRanks returns the rank of each node, -1 of one that has none.
func nodeRanks(p *Problem) []int32 {
	rank := slices.Repeat([]int32{-1}, int(p.Network.Nodes))
	for r, a := range p.Group {
		rank[a] = int32(r)
	}
	return rank
}

// link returns the first link from one rank to another, -1 if there is none.
func (z *linkTable) link(src, dst int32) int32 {
	if links := z.links[[2]int32{src, dst}]; len(links) > 0 {
		return links[0]
	}
	return -1
}

package collective

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/internal/numbers"
	"sim/internal/random"
)

// transferClasses describes a schedule in which each transfer stands for a class of identical
// transfers. Transfers of one class are sent between pairs of one class, have the same size, and
// wait for transfers of the same classes. Pairs of one class send the same numbers of transfers of
// each class.
type transferClasses struct {
	pairs     []Pair
	pairClass []int32 // by index in pairs, numbered from 0
	pairOf    []int32 // by class of transfers: the pair of its first transfer
	perPair   []int64 // by class of transfers: its transfers per pair
	size      []int64 // by class of transfers: its transfers in total
	transfers int64   // number of all transfers
}

// Pair is two nodes between which a schedule sends transfers over one link or path.
type Pair struct {
	engine.Flow
	Link  int32 // prescribed link, or -1 if a router chooses the path
	Bytes int64 // of all transfers of the schedule
}

// HasClasses reports whether each transfer stands for a class of identical transfers.
func (s *Schedule) HasClasses() bool { return s.classes != nil }

// ClassSize returns the number of transfers that transfer i stands for.
func (s *Schedule) ClassSize(i int32) int64 {
	if s.classes == nil {
		return 1
	}
	return s.classes.size[i]
}

// NumTransfers returns the number of transfers that the schedule stands for.
func (s *Schedule) NumTransfers() int64 {
	if s.classes == nil {
		return int64(len(s.Transfers))
	}
	return s.classes.transfers
}

// Pairs returns all pairs of a schedule in the order of source, destination and link, and the
// index of the pair of each transfer. The pair of a class is the pair of its first transfer.
func (s *Schedule) Pairs() (pairs []Pair, pairOf []int32) {
	if s.classes != nil {
		return s.classes.pairs, s.classes.pairOf
	}

	// Number the pairs in the order of their first transfers.
	pairAt := func(t *Transfer) Pair {
		return Pair{Flow: engine.Flow{Src: s.Group[t.Src], Dst: s.Group[t.Dst]}, Link: t.Link}
	}
	index := map[Pair]int32{}
	pairOf = make([]int32, len(s.Transfers))
	for i := range s.Transfers {
		t := &s.Transfers[i]
		key := pairAt(t)
		k, ok := index[key]
		if !ok {
			k = int32(len(pairs))
			index[key] = k
			pairs = append(pairs, key)
		}
		pairs[k].Bytes += t.Bytes
		pairOf[i] = k
	}

	return sortPairs(pairs, pairOf)
}

// sortPairs sorts pairs by source, destination and link, and renumbers pairOf.
func sortPairs(pairs []Pair, pairOf []int32) ([]Pair, []int32) {
	order := numbers.Below(int32(len(pairs)))
	slices.SortFunc(order, func(a, b int32) int {
		p, q := &pairs[a], &pairs[b]
		return cmp.Or(cmp.Compare(p.Src, q.Src), cmp.Compare(p.Dst, q.Dst),
			cmp.Compare(p.Link, q.Link))
	})

	// position is the new index of each pair.
	sorted, position := make([]Pair, len(pairs)), make([]int32, len(pairs))
	for k, old := range order {
		sorted[k], position[old] = pairs[old], int32(k)
	}
	for i, k := range pairOf {
		pairOf[i] = position[k]
	}
	return sorted, pairOf
}

// Limits of ExpandClasses. Schedules with few identical transfers are given up, because Expand
// then takes less time.
const (
	maxClassPasses = 4       // expansions, each with finer classes of pairs
	minClassCheck  = 1 << 14 // transfers after which the number of classes is checked
	minClassSize   = 8       // mean number of transfers per class
)

// ExpandClasses returns the schedule of a call with one transfer for each class of identical
// transfers, for engines that share links max-min fairly. It takes memory for the blocks of the
// ranks and for the classes, but not for each transfer. A ring all-reduce among n ranks has 2n-2
// classes instead of n(2n-2) transfers.
//
// classOf divides the pairs into classes; nil puts all pairs into class 0. The classes of the
// result refine it. Transfers of one class then start and end together, provided that the
// resulting classes of pairs fit the network and its paths. FoldRoutes checks this.
//
// The error wraps engine.ErrAsymmetric if few transfers are identical, if ranks are joined by
// parallel links, or if links keep the order of the schedule. Expand describes the other errors.
// The returned schedule has no Spans, and Check, Balance and Ranks do not apply to it.
func (r Row) ExpandClasses(
	ctx context.Context, p *Problem, o Options, classOf func(engine.Flow) int32,
) (*Schedule, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if classOf == nil {
		classOf = func(engine.Flow) int32 { return 0 }
	}
	var pairClass []int32 // of the previous pass
	for range maxClassPasses {
		b := newBuilder(ctx, p, o)
		if b.rankLinks.parallel {
			return nil, fmt.Errorf("%w: parallel links", engine.ErrAsymmetric)
		}
		b.folder = &transferFolder{
			classOf: classOf, given: pairClass, pairAt: map[[2]int32]int32{},
			lastSent: map[[2]int32]int32{}, lastScatter: map[[2]int32]int32{},
			classesAt: map[uint64][]int32{}, recent: -1,
		}
		if err := r.run(b); err != nil {
			return nil, err
		}
		refined, isStable := b.folder.refinePairs()
		if isStable {
			return b.folder.schedule(b.Schedule), nil
		}
		pairClass = refined
	}
	return nil, fmt.Errorf("%w: pairs still differ after %d passes", engine.ErrAsymmetric,
		maxClassPasses)
}

// transferFolder divides the transfers of a builder into classes while they are sent.
type transferFolder struct {
	classOf func(engine.Flow) int32
	given   []int32 // classes of pairs, by index in pairs; nil in the first pass, for classOf
	sent    int     // number of transfers so far

	// The following are indexed by pair, in the order of their first transfers.
	pairs     []Pair
	pairClass []int32
	// contents are hashes of the classes of transfers of each pair: the sum of one hash per
	// transfer. Pairs with equal sums are taken to send the same transfers. For different
	// contents, the probability that two of k sums agree is about k*k/2^65.
	contents []uint64
	pairAt   map[[2]int32]int32 // by source and destination rank

	lastSent    map[[2]int32]int32 // the class of the last transfer, by pair and stream
	lastScatter map[[2]int32]int32 // the class of the last scatter, by destination rank and stream

	// The following are indexed by class of transfers.
	pairOf    []int32            // pair of the first transfer
	size      []int64            // number of transfers
	classesAt map[uint64][]int32 // classes, by hash of classKey
	recent    int32              // class of the last transfer, or -1
}

// pair returns the index of the pair of two ranks.
func (z *transferFolder) pair(b *builder, src, dst int32) int32 {
	k, ok := z.pairAt[[2]int32{src, dst}]
	if !ok {
		k = int32(len(z.pairs))
		z.pairAt[[2]int32{src, dst}] = k
		flow := engine.Flow{Src: b.Group[src], Dst: b.Group[dst]}
		z.pairs = append(z.pairs, Pair{Flow: flow, Link: b.rankLinks.link(src, dst)})
		z.contents = append(z.contents, 0)
		if z.given == nil {
			z.pairClass = append(z.pairClass, z.classOf(flow))
		} else {
			z.pairClass = append(z.pairClass, z.given[k])
		}
	}
	return k
}

// add adds a transfer of builder b to its class, or to a new class.
func (z *transferFolder) add(b *builder, src, dst int32, d data, reduce bool) {
	if len(d) == 0 || src == dst || b.err != nil {
		return
	}
	if z.sent++; z.sent%(1<<12) == 0 {
		b.err = b.ctx.Err()
	}
	if z.sent >= minClassCheck && z.sent < minClassSize*len(b.Transfers) || b.keepsOrder {
		b.err = fmt.Errorf("%w: %d classes of %d transfers", engine.ErrAsymmetric,
			len(b.Transfers), z.sent)
	}
	if b.err != nil {
		return
	}

	// The histories of the data get the class of the transfer as soon as it is known. -1 stands for
	// it until then.
	firstPush := len(b.lists)
	t := Transfer{
		Src: src, Dst: dst, Link: -1, Reduce: reduce, Previous: -1, Bytes: d.bytes(),
		after: int32(len(b.after)), stream: b.stream,
	}
	waits := b.recordWaits(&t, d, -1)

	pair := z.pair(b, src, dst)
	t.Link = z.pairs[pair].Link
	z.pairs[pair].Bytes += t.Bytes
	sendKey := [2]int32{pair, b.stream}
	if last, ok := z.lastSent[sendKey]; ok {
		t.Previous = last
	}
	gatherWaits := b.gatherWaitsOf(src, waits)

	class := z.find(b, t, pair, waits, gatherWaits)
	if class < 0 { // a new class
		class = int32(len(b.Transfers))
		b.Transfers = append(b.Transfers, t)
		z.pairOf = append(z.pairOf, pair)
		z.size = append(z.size, 0)
		if gatherWaits != nil {
			b.gatherWaits[class] = gatherWaits
		}
		key := z.hash(t, pair, waits)
		z.classesAt[key] = append(z.classesAt[key], class)
	} else {
		b.after = b.after[:t.after]
	}

	for k := firstPush; k < len(b.lists); k++ {
		b.lists[k].id = class
	}
	z.recent = class
	z.size[class]++
	z.contents[pair] += random.Mix(uint64(class))
	z.lastSent[sendKey] = class
	if reduce {
		z.lastScatter[[2]int32{dst, b.stream}] = class
	}
}

// findLastScatters sets the classes of the last scatter to each rank, over all streams from first.
func (z *transferFolder) findLastScatters(of [][]int32, first int32) {
	for at, class := range z.lastScatter {
		if rank, stream := at[0], at[1]; stream >= first {
			of[rank] = append(of[rank], class)
		}
	}
	for rank := range of {
		slices.Sort(of[rank])
		of[rank] = slices.Compact(of[rank])
	}
}

// hash returns a hash of the common properties of a class: the class of its pair, size and waits.
func (z *transferFolder) hash(t Transfer, pair int32, waits []int32) uint64 {
	h := random.Mix(uint64(z.pairClass[pair]))
	h = random.Mix(h ^ uint64(t.Bytes))
	h = random.Mix(h ^ uint64(t.Previous+1))
	for _, w := range waits {
		h = random.Mix(h ^ uint64(w))
	}
	return h
}

// find returns the class of a transfer, or -1 if the transfer is the first of its class.
func (z *transferFolder) find(
	b *builder, t Transfer, pair int32, waits, gatherWaits []int32,
) int32 {
	contains := func(class int32) bool {
		c := &b.Transfers[class]
		end := t.after // where the dependencies of the last class end
		if int(class)+1 < len(b.Transfers) {
			end = b.Transfers[class+1].after
		}
		return z.pairClass[z.pairOf[class]] == z.pairClass[pair] && c.Bytes == t.Bytes &&
			c.Reduce == t.Reduce && c.Previous == t.Previous &&
			slices.Equal(b.after[c.after:end], waits) &&
			slices.Equal(b.gatherWaits[class], gatherWaits)
	}

	// Most transfers are of the class of the previous one.
	if z.recent >= 0 && contains(z.recent) {
		return z.recent
	}
	for _, class := range z.classesAt[z.hash(t, pair, waits)] {
		if contains(class) {
			return class
		}
	}
	return -1
}

// refinePairs divides the classes of pairs by the transfers that the pairs send. It reports whether
// the classes stay the same.
func (z *transferFolder) refinePairs() (refined []int32, isStable bool) {
	type content struct {
		class  int32
		hashes uint64
	}
	number := map[content]int32{}
	old := map[int32]bool{}
	for k, class := range z.pairClass {
		c := content{class, z.contents[k]}
		if _, ok := number[c]; !ok {
			number[c] = int32(len(number))
		}
		refined = append(refined, number[c])
		old[class] = true
	}
	return refined, len(number) == len(old)
}

// schedule completes a schedule whose transfers are classes.
func (z *transferFolder) schedule(s *Schedule) *Schedule {
	c := &transferClasses{pairOf: z.pairOf, size: z.size, transfers: int64(z.sent)}
	refined, _ := z.refinePairs() // numbered without gaps
	pairsOf := make([]int64, len(z.pairs))
	for _, class := range refined {
		pairsOf[class]++
	}
	for class, pair := range z.pairOf {
		c.perPair = append(c.perPair, z.size[class]/pairsOf[refined[pair]])
	}

	// Sort the pairs, and their classes with them.
	position := numbers.Below(int32(len(z.pairs)))
	c.pairs, position = sortPairs(z.pairs, position)
	c.pairClass = make([]int32, len(refined))
	for k, class := range refined {
		c.pairClass[position[k]] = class
	}
	for class, pair := range c.pairOf {
		c.pairOf[class] = position[pair]
	}
	s.classes = c
	return s
}

// FoldRoutes returns the routes of the tasks of Append for a schedule with classes. routes has the
// routes of the pairs on n, and kind is the argument of engine.FoldUses. If the classes do not fit
// the routes, it returns engine.ErrAsymmetric and a classOf with which ExpandClasses yields finer
// classes. The classOf is nil if no classes fit; see engine.FoldUses.
func (s *Schedule) FoldRoutes(
	n *engine.Network, routes *engine.Routes, kind func(resource int32) int,
) (folded *engine.Routes, classOf func(engine.Flow) int32, err error) {
	c := s.classes
	ofPairs, refined, err := engine.FoldUses(n, c.pairClass, routes, kind)
	if err != nil {
		if refined == nil {
			return nil, nil, err
		}
		finer := make(map[engine.Flow]int32, len(c.pairs))
		for k := range c.pairs {
			finer[c.pairs[k].Flow] = refined[k]
		}
		return nil, func(f engine.Flow) int32 { return finer[f] }, err
	}

	tasks := len(s.Transfers) + 1 // with the milestone
	return engine.NewRoutes(tasks, func(uses []engine.Use, class int32) []engine.Use {
		if int(class) == len(s.Transfers) {
			return uses
		}
		for _, u := range ofPairs.Of(c.pairClass[c.pairOf[class]]) {
			u.Weight *= float64(c.perPair[class])
			uses = append(uses, u)
		}
		return uses
	}), nil, nil
}

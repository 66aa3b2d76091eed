package circulant

import (
	"math"
	"math/rand/v2"
	"slices"

	"sim/policies/reconfigure/halt"
)

// tiling seeks d phases of few slots in all that reach all offsets in at most three hops, by simulated annealing.
//
// Where words are that short, a phase of s slots is a pattern: as many words over its k generators as load none by more
// than s, such as a, b and a+b for k = 2 and s = 2. Phases that waste nothing have patterns that cover all offsets,
// once each if they fit exactly, much as tiles do. A state is a pattern and k offsets for each phase, and its cost the
// number of offsets that no word leads to. A move changes an offset, often such that a word leads to one of those; or a
// pattern for another of as many slots; or gives a slot of one phase to another.
type tiling struct {
	n, k    int
	random  *rand.Rand
	words   [][]int32    // counts by generator, short ones first
	sizes   [][]*pattern // by slots: the patterns of most words
	phases  []tile
	times   []int32  // by offset: how many words lead to it
	open    int      // offsets that none leads to
	changes []change // of the last move
	stop    halt.When
}

// pattern is some words, as counts by generator.
type pattern struct {
	slots int
	words [][]int32
	uses  [][]use // by generator
}

// use is a word that has a generator so many times.
type use struct {
	word  int32
	times uint8 // of at most 3 hops
}

// tile is a phase.
type tile struct {
	*pattern
	offsets []int
	at      []int // by word: the offset that it leads to
}

// change is what a move did to a phase: it changed the pattern, or moved an offset on.
type change struct {
	tile  *tile
	was   *pattern // nil where an offset was moved
	j, by int
}

const (
	// tilingMoves is the moves of one annealing. A move weighs a handful of words, and half of them are needed for 64
	// GPUs.
	tilingMoves = 160_000
	// The temperatures of annealing, in offsets.
	tilingHot, tilingCold = 0.35, 0.1
	// tilingSpan is how many numbers of slots, from the least on, are sought.
	tilingSpan = 5
	// patternDraws is how many patterns of so many slots are drawn, of which those of most words are kept.
	patternDraws = 48
	// mostPatternWords bounds the words that patterns are drawn from.
	mostPatternWords = 512
)

// tile returns a scheme of d phases of as few slots as it finds for one chunk a pair, less than below, and nil if it
// finds none. The least number of slots is tried first, then those between what failed and what did not, and in the end
// the last that failed once more.
func (l *planner) tile(d int, below int64) (best *scheme) {
	if l.chunks != 1 || !l.tileable(d) {
		return nil
	}
	t := &tiling{n: l.n, k: l.k, random: l.random("tiling", d), times: make([]int32, l.n), stop: l.o.Stop}
	for h := int32(1); h <= 3; h++ {
		more := t.spell(h)
		if h == 3 && len(t.words)+len(more) > mostPatternWords {
			break
		}
		t.words = append(t.words, more...)
	}
	least := l.least(d)
	low, try, again := least, least, true
	for low < below {
		if t.start(d, int(try)) && t.anneal() {
			phases, words := t.taken()
			best, below = l.along(phases, words, 0), try
		} else {
			low = try + 1
		}
		if low == below && again && best != nil && best.total() > least {
			low, again = below-1, false // so near, another start may do
		}
		try = (low + below - 1) / 2
	}
	return best
}

// tileable reports whether words of two hops over d phases are as many as offsets, and phases are few enough that
// annealing, which takes moves by their number, finds something.
func (l *planner) tileable(d int) bool {
	words := l.k + l.k*(l.k+1)/2
	return words <= mostPatternWords && d*words >= l.n-1 && d*l.k <= 512
}

// spell lists the words of h hops.
func (t *tiling) spell(h int32) (words [][]int32) {
	word := make([]int32, t.k)
	var rest func(j int, left int32)
	rest = func(j int, left int32) {
		if j == t.k-1 {
			word[j] = left
			words = append(words, slices.Clone(word))
			return
		}
		for x := left; x >= 0; x-- {
			word[j] = x
			rest(j+1, left-x)
		}
	}
	rest(0, h)
	return words
}

// patterns returns the patterns of most words found for a phase of so many slots. Words are drawn short ones first.
func (t *tiling) patterns(slots int) []*pattern {
	for len(t.sizes) <= slots {
		var list []*pattern
		for range patternDraws {
			p := t.draw(len(t.sizes))
			if len(list) > 0 && len(p) > len(list[0].words) {
				list = list[:0]
			}
			if len(list) == 0 || len(p) == len(list[0].words) && !slices.ContainsFunc(list, func(q *pattern) bool { return equal(p, q.words) }) {
				list = append(list, t.pattern(len(t.sizes), p))
			}
		}
		t.sizes = append(t.sizes, list)
	}
	return t.sizes[slots]
}

func (t *tiling) pattern(slots int, words [][]int32) *pattern {
	p := &pattern{slots, words, make([][]use, t.k)}
	for i, w := range words {
		for j, x := range w {
			if x > 0 {
				p.uses[j] = append(p.uses[j], use{int32(i), uint8(x)})
			}
		}
	}
	return p
}

func (t *tiling) draw(slots int) (p [][]int32) {
	load := make([]int32, t.k)
	for from := 0; from < len(t.words); {
		to := from
		for to < len(t.words) && hops(t.words[to]) == hops(t.words[from]) {
			to++
		}
		for _, i := range t.random.Perm(to - from) {
			fits := true
			for j, x := range t.words[from+i] {
				fits = fits && load[j]+x <= int32(slots)
			}
			if fits {
				for j, x := range t.words[from+i] {
					load[j] += x
				}
				p = append(p, t.words[from+i])
			}
		}
		from = to
	}
	slices.SortFunc(p, slices.Compare)
	return p
}

func equal(p, q [][]int32) bool { return slices.EqualFunc(p, q, slices.Equal) }

func hops(word []int32) (sum int32) {
	for _, x := range word {
		sum += x
	}
	return sum
}

// start sets up d phases of slots in all, which it shares out such that patterns have most words, as evenly as can be,
// and random offsets. It reports whether they have words for all offsets.
func (t *tiling) start(d, slots int) bool {
	// By phases and slots: the most words.
	most := slices.Repeat([]int{math.MinInt32}, (d+1)*(slots+1))
	at := func(phases, of int) *int { return &most[phases*(slots+1)+of] }
	*at(0, 0) = 0
	longest := min(slots-d+1, 2*slots/d+2)
	for i := 1; i <= d; i++ {
		for s := i; s <= slots; s++ {
			for x := 1; x <= min(longest, s); x++ {
				*at(i, s) = max(*at(i, s), *at(i-1, s-x)+len(t.patterns(x)[0].words))
			}
		}
	}
	if *at(d, slots) < t.n-1 {
		return false
	}
	clear(t.times)
	t.times[0], t.open = 1, t.n-1
	t.phases = make([]tile, d)
	for i, left := d, slots; i > 0; i-- {
		p, slots := &t.phases[i-1], 0
		for x := 1; x <= min(longest, left); x++ {
			if *at(i, left) == *at(i-1, left-x)+len(t.patterns(x)[0].words) &&
				(slots == 0 || math.Abs(float64(x*i-left)) < math.Abs(float64(slots*i-left))) {
				slots = x
			}
		}
		left -= slots
		q := t.any(slots)
		for range t.k {
			p.offsets = append(p.offsets, 1+t.random.IntN(t.n-1))
		}
		t.set(p, q)
	}
	return true
}

// any draws a pattern.
func (t *tiling) any(slots int) *pattern {
	list := t.patterns(slots)
	return list[t.random.IntN(len(list))]
}

// leads is the offset that a word leads to.
func (t *tiling) leads(p *tile, word []int32) int {
	at := 0
	for j, x := range word {
		at += int(x) * p.offsets[j]
	}
	return at % t.n
}

// cover and uncover count a word that leads to an offset.
func (t *tiling) cover(o int) {
	if t.times[o] == 0 {
		t.open--
	}
	t.times[o]++
}

func (t *tiling) uncover(o int) {
	if t.times[o]--; t.times[o] == 0 {
		t.open++
	}
}

// set gives a phase a pattern.
func (t *tiling) set(p *tile, to *pattern) {
	for _, o := range p.at {
		t.uncover(o)
	}
	p.pattern, p.at = to, p.at[:0]
	for _, w := range to.words {
		o := t.leads(p, w)
		p.at = append(p.at, o)
		t.cover(o)
	}
}

// turn moves offset j of a phase on by less than n.
func (t *tiling) turn(p *tile, j, by int) {
	p.offsets[j] = (p.offsets[j] + by) % t.n
	steps := [4]int{0, by, 2 * by % t.n, 3 * by % t.n}
	for _, u := range p.uses[j] {
		o := p.at[u.word]
		t.uncover(o)
		if o += steps[u.times&3]; o >= t.n {
			o -= t.n
		}
		p.at[u.word] = o
		t.cover(o)
	}
}

// anneal moves until all offsets are covered, which it reports, or the moves have ended.
func (t *tiling) anneal() bool {
	cooling := math.Pow(tilingCold/tilingHot, 1.0/tilingMoves)
	temperature := float64(tilingHot)
	for i := range tilingMoves {
		if t.open == 0 {
			return true
		}
		if i%1024 == 0 {
			t.stop.Check()
		}
		temperature *= cooling
		before := t.open
		t.move()
		if worse := t.open - before; worse > 0 && t.random.Float64() >= math.Exp(-float64(worse)/temperature) {
			t.undo()
		}
	}
	return t.open == 0
}

func (t *tiling) move() {
	t.changes = t.changes[:0]
	p := &t.phases[t.random.IntN(len(t.phases))]
	switch kind := t.random.IntN(20); {
	case kind == 0:
		if q := &t.phases[t.random.IntN(len(t.phases))]; q != p && q.slots > 1 {
			t.replace(p, p.slots+1)
			t.replace(q, q.slots-1)
		}
		return
	case kind < 4 && len(t.patterns(p.slots)) > 1:
		t.replace(p, p.slots)
		return
	}
	j := t.random.IntN(t.k)
	by := 1 + t.random.IntN(t.n-1) - p.offsets[j]
	if w := t.random.IntN(len(p.words)); p.words[w][j] == 1 && t.random.IntN(2) == 0 {
		// The word is to lead to an open offset.
		o := t.random.IntN(t.n)
		for t.times[o] > 0 {
			o = (o + 1) % t.n
		}
		if by = o - p.at[w]; (p.offsets[j]+by)%t.n == 0 {
			return
		}
	}
	by = (by + t.n) % t.n
	t.turn(p, j, by)
	t.changes = append(t.changes, change{tile: p, j: j, by: by})
}

// replace gives a phase a pattern of so many slots.
func (t *tiling) replace(p *tile, slots int) {
	t.changes = append(t.changes, change{tile: p, was: p.pattern})
	t.set(p, t.any(slots))
}

// undo takes the last move back.
func (t *tiling) undo() {
	for _, c := range t.changes {
		if c.was != nil {
			t.set(c.tile, c.was)
		} else {
			t.turn(c.tile, c.j, (t.n-c.by)%t.n)
		}
	}
}

// taken returns the offsets by phase, and a word to each offset.
func (t *tiling) taken() (phases [][]int, words []word) {
	have := make([]bool, t.n)
	have[0] = true
	for i := range t.phases {
		p := &t.phases[i]
		phases = append(phases, p.offsets)
		for m, w := range p.words {
			o := p.at[m]
			if have[o] {
				continue
			}
			have[o] = true
			x := word{to: int32(o), hops: hops(w)}
			for j, c := range w {
				if c > 0 {
					x.gen, x.count = append(x.gen, int32(i*t.k+j)), append(x.count, c)
				}
			}
			words = append(words, x)
		}
	}
	return phases, words
}

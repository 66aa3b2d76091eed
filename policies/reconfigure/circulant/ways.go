package circulant

import (
	"slices"

	"sim/policies/reconfigure/plan"
)

// ways lists how chunks can get to each offset: way w takes count[i] hops of generator gen[i] for i = first[w] ..
// first[w+1]-1, in any order. Those to offset D are start[D] .. start[D+1]-1, short ones first.
type ways struct {
	n, generators int
	start, first  []int32
	gen, count    []int32
	hops          []int32 // of a way in all
}

// maxWays is the most routes listed to one offset.
const maxWays = 24

// word is a way while they are collected.
type word struct {
	to, hops   int32
	gen, count []int32
}

// collect turns words into ways, the shortest of each offset first and no more than maxWays.
func collect(n, generators int, words []word) *ways {
	// Words by offset, then by hops, keeping their order among equals.
	start := make([]int32, n+1)
	for i := range words {
		start[words[i].to+1]++
	}
	for o := range n {
		start[o+1] += start[o]
	}
	sorted := make([]int32, len(words))
	filled := slices.Clone(start)
	for i := range words {
		o := words[i].to
		at := filled[o]
		for ; at > start[o] && words[sorted[at-1]].hops > words[i].hops; at-- {
			sorted[at] = sorted[at-1]
		}
		sorted[at] = int32(i)
		filled[o]++
	}
	w := &ways{n: n, generators: generators, start: make([]int32, n+1), first: make([]int32, 1, len(words)+1)}
	for o := range n {
		for _, i := range sorted[start[o]:min(start[o+1], start[o]+maxWays)] {
			w.gen = append(w.gen, words[i].gen...)
			w.count = append(w.count, words[i].count...)
			w.first = append(w.first, int32(len(w.gen)))
			w.hops = append(w.hops, words[i].hops)
		}
		w.start[o+1] = int32(len(w.hops))
	}
	return w
}

// places returns the ways that words are, nil if one of them is none.
func (w *ways) places(words []word) (list []int32) {
	for _, x := range words {
		q := w.start[x.to]
		for ; q < w.start[x.to+1]; q++ {
			from, to := w.first[q], w.first[q+1]
			if slices.Equal(w.gen[from:to], x.gen) && slices.Equal(w.count[from:to], x.count) {
				break
			}
		}
		if q == w.start[x.to+1] {
			return nil
		}
		list = append(list, q)
	}
	return list
}

// speller lists words over some of the generators of a sequence.
type speller struct {
	n       int
	offset  []int   // by generator of this speller
	gen     []int32 // its number among all
	hops    []int32 // least by offset over these
	longest []int32 // by offset: no longer words to it are wanted
	slack   int32   // hops more than the least over these
	deepest int32   // the largest of longest
	most    int     // words to one offset
	found   []int32 // by offset
	words   []word
	count   []int32
}

// spell appends to words all words to offsets 1..n-1 of no more than slack hops above the least and no longer than
// longest. A word of the least hops plus e starts with words of no more than e above theirs, which prunes the search;
// with slack below 2 no part of a word leads back to where it began.
func (s *speller) spell() {
	s.count = make([]int32, len(s.offset))
	s.found = make([]int32, s.n)
	for o, h := range s.longest {
		if o > 0 {
			s.deepest = max(s.deepest, h)
		}
	}
	s.from(0, 0, 0)
}

func (s *speller) from(at, g int, hops int32) {
	if at != 0 && hops <= s.longest[at] && int(s.found[at]) < s.most {
		s.found[at]++
		w := word{to: int32(at), hops: hops}
		for i, c := range s.count {
			if c > 0 {
				w.gen = append(w.gen, s.gen[i])
				w.count = append(w.count, c)
			}
		}
		s.words = append(s.words, w)
	}
	for ; g < len(s.offset) && hops < s.deepest; g++ {
		to := (at + s.offset[g]) % s.n
		if to == 0 || hops+1 > s.hops[to]+s.slack {
			continue
		}
		s.count[g]++
		s.from(to, g, hops+1)
		s.count[g]--
	}
}

// phaseWords lists the words that stay within one phase: to each offset those of no more than slack hops above the
// least over all phases. single lists those of one generator alone.
func phaseWords(n int, phases [][]int, slack int32, single bool) []word {
	var spellers []*speller
	longest := plan.Origin(n)
	for p, offsets := range phases {
		whole := &speller{n: n, slack: min(slack, 1), longest: longest, most: maxWays}
		for j, a := range offsets {
			g := int32(p*len(offsets) + j)
			if single {
				spellers = append(spellers, &speller{
					n: n, offset: []int{a}, gen: []int32{g}, hops: plan.Reach(n, []int{a}), longest: longest, most: 1})
				continue
			}
			whole.offset, whole.gen = append(whole.offset, a), append(whole.gen, g)
		}
		if !single {
			whole.hops = plan.Reach(n, offsets)
			spellers = append(spellers, whole)
		}
	}
	for _, s := range spellers {
		for o, h := range s.hops {
			longest[o] = min(longest[o], h)
		}
	}
	for o := range longest {
		longest[o] += slack
	}
	var words []word
	for _, s := range spellers {
		s.spell()
		words = append(words, s.words...)
	}
	return words
}

// relayWords lists the words over all generators at once, those of the least hops.
func relayWords(n int, phases [][]int) []word {
	return phaseWords(n, [][]int{slices.Concat(phases...)}, 0, false)
}

// evenParts makes the parts of evenly whole for the most counts of ways.
const evenParts = 5040

// evenly returns the hops by generator, in parts of 1/evenParts, if a chunk to each offset went to equal parts by all
// its ways.
func (w *ways) evenly() []int64 {
	load := make([]int64, w.generators)
	for o := 1; o < w.n; o++ {
		span := int64(w.start[o+1] - w.start[o])
		for i := w.first[w.start[o]]; i < w.first[w.start[o+1]]; i++ {
			load[w.gen[i]] += evenParts * int64(w.count[i]) / span
		}
	}
	return load
}

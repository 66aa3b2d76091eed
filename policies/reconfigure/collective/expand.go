package collective

import "sim/policies/reconfigure/plan"

// carries returns the messages of a phase by step and link, as seen from their sender.
func (f *Phase) carries(parts int32) [][][]carry {
	steps, k := len(f.lift.loads[f.course]), len(f.Offsets)
	list := make([][][]carry, steps)
	for s := range list {
		list[s] = make([][]carry, k)
	}
	spread(f.lift.q, parts, f.lift.courses[:f.course+1], func(c, s, i int, m []carry) {
		if c == f.course {
			list[s][i] = append([]carry(nil), m...)
		}
	})
	return list
}

// behind returns how far behind a GPU, in residues and not modulo q, the one is that its sum of a residue comes from, by
// residue and part: in an exchange above the innermost stage a coset's GPUs have equal sums, each under its own number,
// and a sum that came round Z_q has another one's than the residue says.
func (f *Phase) behind(parts int32) []int32 {
	q := int32(f.lift.q)
	d := make([]int32, q*parts)
	spread(f.lift.q, parts, f.lift.courses[:f.course+1], func(c, s, i int, m []carry) {
		a := f.lift.courses[c].offsets[i]
		for _, r := range m {
			for y := r.first; y < r.first+r.count; y++ {
				for p := r.from; p < r.to; p++ {
					d[(y+a)%q*parts+p] = d[y%q*parts+p] + a
				}
			}
		}
	})
	return d
}

// messages returns all messages of a phase, by step, sender and link. Those that would be empty are left out.
func (pl *Plan) messages(phase int) []plan.Message {
	f := &pl.Phases[phase]
	if f.source != nil {
		return f.transmissions(pl, phase)
	}
	n := int32(pl.Problem.GPUs)
	list := f.carries(pl.Parts)
	var behind []int32
	if f.Kind == plan.Exchange {
		behind = f.behind(pl.Parts)
	}
	var all []plan.Message
	for s := range list {
		from := s
		if f.Kind == plan.Scatter {
			from = len(list) - 1 - s
		}
		for u := range n {
			for i, m := range list[from] {
				if len(m) == 0 {
					continue
				}
				t := plan.Message{Phase: int32(phase), Step: int32(s), From: u, To: (u + f.Offsets[i]) % n}
				t.Pieces = f.pieces(n, u, f.Offsets[i], m, behind)
				all = append(all, t)
			}
		}
	}
	return all
}

// pieces writes out a message that GPU u sends over a link of an offset.
//
// Residue y of the stage is the coset of y*n/(below*q), the multiples of n/below away from it. Gathering, u passes on
// the shards from so far behind it. Scattering is the same backwards, on the mirror image: where a copy of shard z came
// to z+y+offset from z+y, the sum of shard z goes from z-y-offset to z-y. behind is that of an exchange.
func (f *Phase) pieces(n, u, offset int32, m []carry, behind []int32) []plan.Piece {
	below, q := int32(f.lift.below), int32(f.lift.q)
	scale, coset := n/(below*q), n/below
	size := 0
	for _, c := range m {
		size += int(c.count)
	}
	members := below
	if f.Kind == plan.Exchange {
		members = int32(f.vector)
	}
	list := make([]plan.Piece, 0, size*int(members))
	for _, c := range m {
		for y := c.first; y < c.first+c.count; y++ {
			for j := range members {
				piece := plan.Piece{From: c.from, To: c.to, Origin: -1}
				switch f.Kind {
				case plan.Gather:
					piece.Shard = (u + 2*n - y*scale - j*coset) % n
				case plan.Scatter:
					piece.Shard = (u + offset + y*scale + j*coset) % n
				case plan.Exchange:
					piece.Shard = (u + j*(n/members)) % n
					parts := int32(len(behind)) / q
					of := behind[y%q*parts:][:parts]
					for piece.From < c.to {
						for piece.To = piece.From + 1; piece.To < c.to && of[piece.To] == of[piece.From]; piece.To++ {
						}
						piece.Origin = (u + n - of[piece.From]*scale%n) % n
						list = append(list, piece)
						piece.From = piece.To
					}
					continue
				}
				list = append(list, piece)
			}
		}
	}
	return list
}

// longest returns the bytes of the longest message of each step of a phase, in the order of the stage, for scattering
// as for gathering.
func (pl *Plan) longest(f *Phase) []int64 {
	n := pl.Problem.GPUs
	small, rest := pl.Problem.Bytes/int64(n), int(pl.Problem.Bytes%int64(n))
	// Shards 0..rest-1 have a byte more, and it is in this part of theirs.
	extra := int32(small % int64(pl.Parts))
	count := make([]int32, n) // by shard, from the sender: whether that part of it is in the message
	var bytes []int64
	for _, links := range f.carries(pl.Parts) {
		most := int64(0)
		for _, m := range links {
			pl.Problem.Stop.Check()
			base, carries := int64(0), 0
			if rest > 0 {
				clear(count)
			}
			for _, c := range m {
				b := plan.PieceStart(small, c.to, pl.Parts) - plan.PieceStart(small, c.from, pl.Parts)
				holds := c.from <= extra && extra < c.to
				if f.Kind == plan.Exchange {
					base += b * int64(c.count) * int64(f.vector)
					if holds {
						carries += int(c.count)
					}
					continue
				}
				base += b * int64(c.count) * int64(f.lift.below)
				if rest == 0 || !holds {
					continue
				}
				for y := c.first; y < c.first+c.count; y++ {
					for j := range f.lift.below {
						count[(int(y)*(n/(f.lift.below*f.lift.q))+j*(n/f.lift.below))%n]++
					}
				}
			}
			if f.Kind == plan.Exchange {
				spacing := n / f.vector
				base += int64(carries) * int64((rest+spacing-1)/spacing)
			} else if rest > 0 {
				base += int64(densest(count, rest))
			}
			most = max(most, base)
		}
		bytes = append(bytes, most)
	}
	return bytes
}

// densest returns the largest sum of so many consecutive entries, the first following the last.
func densest(count []int32, window int) int32 {
	sum := int32(0)
	for _, c := range count[:window] {
		sum += c
	}
	most := sum
	for i, c := range count {
		sum += count[(i+window)%len(count)] - c
		most = max(most, sum)
	}
	return most
}

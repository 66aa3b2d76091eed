package collective

import "sim/policies/reconfigure/plan"

// stageMessages returns the messages of a phase of a stage, indexed by step and link. All GPUs send
// the same messages, relative to their number.
func (f *Phase) stageMessages(parts int32) [][][]residueRange {
	steps := len(f.chainStage.loads[f.index])
	k := len(f.Offsets)
	list := make([][][]residueRange, steps)
	for s := range list {
		list[s] = make([][]residueRange, k)
	}

	// Simulate the stage up to this phase, and keep the messages of this phase.
	runBroadcast(f.chainStage.q, parts, f.chainStage.phases[:f.index+1],
		func(c, s, i int, m []residueRange) {
			if c == f.index {
				list[s][i] = append([]residueRange(nil), m...)
			}
		})

	return list
}

// originOffsets returns, by residue and part, the distance from a GPU to the one whose sum it
// receives for a residue. The distance is not reduced modulo q. In an exchange above the
// innermost stage, the GPUs of a coset have equal sums under different numbers. A sum that has
// travelled around Z_q therefore has another number than its residue.
func (f *Phase) originOffsets(parts int32) []int32 {
	// Each message carries the distances of its sums one hop further.
	q := int32(f.chainStage.q)
	d := make([]int32, q*parts)
	runBroadcast(f.chainStage.q, parts, f.chainStage.phases[:f.index+1],
		func(c, s, i int, m []residueRange) {
			a := f.chainStage.phases[c].offsets[i]
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

// messages returns all non-empty messages of a phase, by step, sender and link.
func (pl *Plan) messages(phase int) []plan.Message {
	f := &pl.Phases[phase]
	if f.source != nil {
		return f.sourceMessages(pl, phase)
	}
	n := int32(pl.Problem.GPUs)
	list := f.stageMessages(pl.Parts)
	var origins []int32
	if f.Kind == plan.Exchange {
		origins = f.originOffsets(pl.Parts)
	}

	var all []plan.Message
	for s := range list {
		// A scatter is a gather in reverse, so its steps are taken from the last to the first.
		from := s
		if f.Kind == plan.Scatter {
			from = len(list) - 1 - s
		}
		for u := range n {
			for i, m := range list[from] {
				if len(m) == 0 {
					continue
				}
				t := plan.Message{
					Phase: int32(phase),
					Step:  int32(s),
					From:  u,
					To:    (u + f.Offsets[i]) % n,
				}

				t.Pieces = f.pieces(n, u, f.Offsets[i], m, origins)
				all = append(all, t)
			}
		}
	}

	return all
}

// pieces returns the pieces of a message that GPU u sends over a link of an offset.
//
// Residue y of the stage stands for the coset of y*n/(below*q): this number and all others at
// multiples of n/below from it. To gather, u forwards the shards of GPUs at this distance behind
// it. Scattering is the same in reverse, on the mirror image. If a copy of shard z moves from z+y
// to z+y+offset, the sum of shard z moves from z-y-offset to z-y. origins is the result of
// originOffsets for an exchange.
func (f *Phase) pieces(n, u, offset int32, m []residueRange, origins []int32) []plan.Piece {
	below := int32(f.chainStage.below)
	q := int32(f.chainStage.q)

	// scale is the distance of neighbouring residues, coset the distance of GPUs that stand for
	// one residue.
	scale, coset := n/(below*q), n/below
	size := 0
	for _, c := range m {
		size += int(c.count)
	}

	// Each residue stands for members shards.
	members := below
	if f.Kind == plan.Exchange {
		members = int32(f.vectorShards)
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

					// Divide the piece where the origin of its parts changes.
					parts := int32(len(origins)) / q
					offsets := origins[y%q*parts:][:parts]
					for piece.From < c.to {
						for piece.To = piece.From + 1; piece.To < c.to &&
							offsets[piece.To] == offsets[piece.From]; piece.To++ {
						}
						piece.Origin = (u + n - offsets[piece.From]*scale%n) % n
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

// longestMessages returns the bytes of the longest message of each step of a phase, in the order
// of the stage for both scattering and gathering.
func (pl *Plan) longestMessages(f *Phase) []int64 {
	n := pl.Problem.GPUs
	small := pl.Problem.Bytes / int64(n)
	rest := int(pl.Problem.Bytes % int64(n))

	// Shards 0 to rest-1 have one more byte than the others, in part extra.
	extra := int32(small % int64(pl.Parts))

	// The messages of a link differ between senders only by these additional bytes. base is the size
	// without them. count is how often part extra of a shard is in the message, indexed by shard
	// relative to the sender. Relative to a sender, the rest long shards are a window of count. The
	// sender with the largest sum of its window sends the longest message.
	count := make([]int32, n)
	var bytes []int64
	for _, links := range f.stageMessages(pl.Parts) {
		maxBytes := int64(0)
		for _, m := range links {
			pl.Problem.Stop.Check()
			base, carries := int64(0), 0
			if rest > 0 {
				clear(count)
			}
			for _, c := range m {
				// b is the size of the parts of a small shard; holds reports whether one of them
				// has the additional byte.
				b := plan.PieceStart(small, c.to, pl.Parts) - plan.PieceStart(small, c.from, pl.Parts)
				holds := c.from <= extra && extra < c.to
				if f.Kind == plan.Exchange {
					base += b * int64(c.count) * int64(f.vectorShards)
					if holds {
						carries += int(c.count)
					}
					continue
				}

				base += b * int64(c.count) * int64(f.chainStage.below)
				if rest == 0 || !holds {
					continue
				}

				// Count the shards with a possible additional byte, relative to the sender.
				for y := c.first; y < c.first+c.count; y++ {
					for j := range f.chainStage.below {
						count[(int(y)*(n/(f.chainStage.below*f.chainStage.q))+j*(n/f.chainStage.below))%n]++
					}
				}
			}

			if f.Kind == plan.Exchange {
				// Of the shards of a vector, which are spacing apart, at most this number are
				// among the first rest shards.
				spacing := n / f.vectorShards
				base += int64(carries) * int64((rest+spacing-1)/spacing)
			} else if rest > 0 {
				base += int64(maxWindowSum(count, rest))
			}

			maxBytes = max(maxBytes, base)
		}

		bytes = append(bytes, maxBytes)
	}

	return bytes
}

// maxWindowSum returns the maximum sum of window consecutive entries of a cyclic list.
func maxWindowSum(count []int32, window int) int32 {
	sum := int32(0)
	for _, c := range count[:window] {
		sum += c
	}
	maxSum := sum
	for i, c := range count {
		sum += count[(i+window)%len(count)] - c
		maxSum = max(maxSum, sum)
	}
	return maxSum
}

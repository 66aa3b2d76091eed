package collective

import "sim/policies/reconfigure/plan"

// This file expands the phases of a chain of stages (chain.go) into messages between GPUs 0..n-1.
//
// A stage is an all-gather on Z_q, the residues modulo q. Before it, each GPU has the shards of
// below GPUs: those at multiples of n/below from it, including itself. In an exchange, the sums of
// these GPUs are equal instead. A residue y stands for below distances between GPUs:
// y*n/(below*q) + j*n/below, for j from 0 to below-1.
//
// Example: 4 GPUs gather in two stages with q = 2. In the first stage below is 1, and residue 1
// is the distance 2: GPU u receives shard u-2. In the second stage below is 2, and residue 1
// stands for the distances 1 and 3: GPU u receives shards u-1 and u-3.

// stageMessages returns the messages of a phase of a stage, indexed by step and link. They are the
// same for all GPUs, because their residues are relative to the sender.
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

// originOffsets returns, for an exchange, how far each sum has travelled: the total of the link
// offsets on its path, indexed by residue*parts + part. GPU u receives the sum of GPU
// u - d*n/(below*q), where d is this distance.
//
// The distance is not reduced modulo q, because a whole turn around Z_q leads to another GPU: one
// at a distance of n/below. The sums of both GPUs are equal after the stages before, but
// plan.Piece.Origin must name the GPU from which the sum came. Example: with n = 8, below = 2 and
// q = 4, a sum that travels two hops of offset 3 has d = 6 and residue 2. It is the sum of GPU
// u-6, not u-2.
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

// pieces returns the pieces of a message m that GPU u sends over a link from u to u+offset. Each
// residue in m stands for several shards; see the head of this file. d is one of its distances.
//
// In a gather, u forwards the shards of the GPUs at these distances behind it: u-d.
//
// A scatter is a gather backwards in time, and with mirrored GPU numbers. In a gather, a copy of
// shard z moves from GPU z+d to z+d+offset. Backwards it moves from z+d+offset to z+d. With
// mirrored distances, the sum of shard z moves from z-d-offset to z-d in a scatter. The shard that
// u = z-d-offset sends is therefore z = u+offset+d.
//
// In an exchange, GPUs exchange sums of vectors. A vector is a set of vectorShards shards: those at
// multiples of n/vectorShards from u. All GPUs that exchange have sums of the same vector, because
// they are at such distances from each other. The shards of a piece are therefore the same for
// each residue; only Origin, the GPU whose sum it is, depends on it. origins is the result of
// originOffsets.
func (f *Phase) pieces(n, u, offset int32, m []residueRange, origins []int32) []plan.Piece {
	below := int32(f.chainStage.below)
	q := int32(f.chainStage.q)

	// Residue y stands for the distances y*scale + j*coset.
	scale, coset := n/(below*q), n/below
	size := 0
	for _, c := range m {
		size += int(c.count)
	}

	members := below // shards per residue
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

	// Shards 0 to rest-1 are long: they have small+1 bytes, the others small. plan.PieceStart makes
	// the first small % Parts parts of a small shard one byte longer than the rest. In a long shard,
	// one more part has this byte: the next one.
	extraPart := int32(small % int64(pl.Parts))

	// The messages of a link differ between senders only by the additional bytes of long shards. size
	// is the number of bytes without them. count[d] is the number of times that a message contains
	// part extraPart of the shard at distance d from its sender.
	//
	// The long shards have consecutive numbers, so they are at rest consecutive distances from any
	// sender: a cyclic window of count, which starts elsewhere for each sender. The largest sum of
	// such a window is the number of additional bytes in the longest message.
	count := make([]int32, n)
	var bytes []int64
	for _, links := range f.stageMessages(pl.Parts) {
		maxBytes := int64(0)
		for _, m := range links {
			pl.Problem.Stop.Check()
			size := int64(0)
			extraVectors := 0 // vectors of an exchange that have part extraPart in the message
			if rest > 0 {
				clear(count)
			}
			for _, c := range m {
				// b is the size of the parts of a small shard.
				b := plan.PieceStart(small, c.to, pl.Parts) - plan.PieceStart(small, c.from, pl.Parts)
				hasExtraPart := c.from <= extraPart && extraPart < c.to
				if f.Kind == plan.Exchange {
					size += b * int64(c.count) * int64(f.vectorShards)
					if hasExtraPart {
						extraVectors += int(c.count)
					}
					continue
				}

				size += b * int64(c.count) * int64(f.chainStage.below)
				if rest == 0 || !hasExtraPart {
					continue
				}

				// Count the parts that may have an additional byte, by distance from the sender.
				for y := c.first; y < c.first+c.count; y++ {
					for j := range f.chainStage.below {
						count[(int(y)*(n/(f.chainStage.below*f.chainStage.q))+j*(n/f.chainStage.below))%n]++
					}
				}
			}

			if f.Kind == plan.Exchange {
				// The shards of a vector are spacing apart. At most ceil(rest/spacing) of them
				// are long.
				spacing := n / f.vectorShards
				size += int64(extraVectors) * int64((rest+spacing-1)/spacing)
			} else if rest > 0 {
				size += int64(maxWindowSum(count, rest))
			}

			maxBytes = max(maxBytes, size)
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

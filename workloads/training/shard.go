package training

import (
	"fmt"
	"math"

	"sim/engine"
)

// What replicas divide among themselves, Spec.Sharding (Rajbhandari et al. 2020, Sec. 5).
const (
	ShardNothing    = "none"       // gradients are all-reduced
	ShardOptimizer  = "optimizer"  // ZeRO-1: gradients are reduce-scattered, and parameters all-gathered, once a step
	ShardGradients  = "gradients"  // ZeRO-2: gradients are reduce-scattered in every backward pass
	ShardParameters = "parameters" // ZeRO-3, FSDP: parameters are all-gathered for every pass, too
)

// scatters reports whether gradients are reduce-scattered in every backward pass, and gathers whether parameters are
// gathered for every pass.
func (s *Spec) scatters() bool { return s.Sharding == ShardGradients || s.gathers() }
func (s *Spec) gathers() bool  { return s.Sharding == ShardParameters }

// Shards returns how many parts of a pass of virtual stage v gather their parameters or scatter their gradients by
// themselves: those of buckets, or one a layer, and where calls are in the graph one a piece of the pass; 0 where none
// does.
func (s *Spec) Shards(v int) int {
	switch {
	case !s.scatters() || s.Replicas()*s.StageCopies() == 1 && !s.CallsInGraph():
		return 0
	case s.Buckets > 0 && !s.CallsInGraph():
		return s.buckets(v)
	}
	return s.Pieces(v)
}

// MostBuckets is the most buckets that a stage's gradients may fill.
const MostBuckets = 1024

// buckets returns how many buckets the gradients of virtual stage v fill.
func (s *Spec) buckets(v int) int {
	return int(min(max(1, math.Ceil(s.allGradients(v)/float64(s.Buckets))), MostBuckets+1))
}

func (s *Spec) allGradients(v int) float64 { return float64(s.Choices.GradientBytes) * s.Parameters(v) }

// LeastBuckets returns the least size of Buckets.
func (s *Spec) LeastBuckets() float64 {
	most := 0.0
	for v := range s.Virtual() {
		most = max(most, s.allGradients(v))
	}
	return math.Ceil(most / MostBuckets)
}

// Parts returns about how many tasks there are of the parts in which a replica's passes gather parameters and scatter
// gradients, and in which gradients are synchronised after them, where each part is so many.
func (s *Spec) Parts(each float64) (n float64) {
	for v := range s.Virtual() {
		_, gathers := s.ShardCalls(v, AllGather)
		_, scatters := s.ShardCalls(v, ReduceScatter)
		n += each * float64(gathers+scatters+s.SyncPieces(v))
	}
	return n
}

// ShardBytes returns what one GPU of virtual stage v sends to its neighbour on the ring of replicas when it gathers the
// parameters of a part of a pass, or scatters the gradients of one.
func (s *Spec) ShardBytes(v int, kind CallKind) int64 {
	each := s.Choices.GradientBytes
	if kind == AllGather {
		each = s.Choices.ParameterBytes
	}
	d := float64(s.Replicas())
	return int64(math.Round(float64(each) * (d - 1) / d * s.Parameters(v) / float64(max(1, s.Shards(v)))))
}

// checkSharding fails where replicas cannot divide what they are to.
func (s *Spec) checkSharding() error {
	if s.scatters() && (s.Copies() > 1 || s.Measured != nil) {
		return fmt.Errorf("training: sharded %s under %s", s.Sharding, s.Schedule)
	}
	return nil
}

func (b *builder) shardCalls(v int, kind CallKind) []Call {
	calls, _ := b.Spec.ShardCalls(v, kind)
	return calls
}

// rendezvous is a collective of all replicas for a part of a pass, which the replicas join one by one as they are built.
type rendezvous struct {
	ready []int32         // by replica: the task that waits for it
	done  [][]int32       // by replica, or where calls are in the graph by rank: the tasks that end it there
	ends  map[int32]int32 // by replica: a task after all of these
}

// exchangeKey tells exchanges apart: those of a stage follow each other, gathers and scatters by themselves.
type exchangeKey struct {
	stage  int
	kind   CallKind
	number int
}

// exchange returns the exchange of that key, which it builds when the first replica comes to it.
func (b *builder) exchange(k exchangeKey, v int, m Meta) (*rendezvous, error) {
	if x, ok := b.exchanges[k]; ok {
		return x, nil
	}
	s := &b.Spec
	x := &rendezvous{ends: map[int32]int32{}}
	m.Phase, m.To, m.GPU = Barrier, m.Stage, -1
	var before *rendezvous
	if k.number > 0 {
		before = b.exchanges[exchangeKey{k.stage, k.kind, k.number - 1}]
	}
	for r := range b.replicas {
		m.Replica = int32(r)
		x.ready = append(x.ready, b.task(engine.Task{}, m))
	}
	if b.exchanges == nil {
		b.exchanges = map[exchangeKey]*rendezvous{}
	}
	b.exchanges[k] = x
	if b.x.Expand == nil {
		m.Replica = 0
		x.done = make([][]int32, b.replicas)
		for _, g := range s.gradients(v) {
			b.exchangeGroup(k, v, g, m, x, before)
		}
		return x, nil
	}
	x.done = make([][]int32, s.GPUs)
	for _, c := range b.shardCalls(v, k.kind) {
		for _, group := range s.Groups(c, 0, k.stage) {
			ready := make([]int32, len(group))
			for i, rank := range group {
				ready[i] = x.ready[b.Nodes[rank].Replica]
				if before != nil && len(before.done[rank]) > 0 {
					both := b.task(engine.Task{}, m)
					b.Graph.AddEdge(ready[i], both, 0)
					for _, end := range before.done[rank] {
						b.Graph.AddEdge(end, both, 0)
					}
					ready[i] = both
				}
			}
			done, err := b.expand(c, group, ready, m)
			if err != nil {
				return nil, err
			}
			for i, rank := range group {
				x.done[rank] = append(x.done[rank], done[i])
			}
		}
	}
	return x, nil
}

// exchangeGroup adds the part of exchange x that is of one group of parameters, after exchange
// before of the same stage; before may be nil. The copies in a stage scatter gradients before the
// ring of replicas does, and gather parameters after it. The ring starts when its last replica is
// ready.
func (b *builder) exchangeGroup(k exchangeKey, v int, g gradientGroup, m Meta, x, before *rendezvous) {
	ready := x.ready
	if g.copied && k.kind == ReduceScatter {
		ready = nil
		for r, id := range x.ready {
			after := []int32{id}
			if before != nil {
				after = append(after, before.done[r]...)
			}
			ready = append(ready, b.copySync(CopyScatter, r, v, after))
		}
	}
	all := b.task(engine.Task{}, m)
	for r, id := range ready {
		b.Graph.AddEdge(id, all, 0)
		if before != nil {
			for _, end := range before.done[r] {
				b.Graph.AddEdge(end, all, 0)
			}
		}
	}
	for r := range b.replicas {
		done := []int32{all}
		if b.Spec.Replicas() > 1 {
			done = b.ring(r, v, g.of(b.Spec.ShardBytes(v, k.kind)), done)
		}
		if g.copied && k.kind == AllGather {
			done = []int32{b.copySync(CopyGather, r, v, done)}
		}
		x.done[r] = append(x.done[r], done...)
	}
}

// end returns a task after all that ends an exchange in a replica's stage, or -1 where nothing does.
func (b *builder) end(x *rendezvous, r int, m Meta) int32 {
	if id, ok := x.ends[int32(r)]; ok {
		return id
	}
	var all []int32
	if b.x.Expand == nil {
		all = x.done[r]
	} else {
		for g := range b.Spec.StageGPUs() {
			all = append(all, x.done[b.Spec.Rank(r, int(m.Stage), g)]...)
		}
	}
	id := int32(-1)
	if len(all) > 0 {
		m.Phase, m.Replica, m.GPU = Barrier, int32(r), -1
		id = b.task(engine.Task{}, m)
		for _, end := range all {
			b.Graph.AddEdge(end, id, 0)
		}
	}
	x.ends[int32(r)] = id
	return id
}

// shard has the parts of a pass wait for their parameters, which are gathered no earlier than the part so many before
// begins (Spec.Prefetch), and scatter their gradients when they have computed them.
func (b *builder) shard(z *stage, v int, m Meta, parts []span, gathers, scatters bool) error {
	r := int(m.Replica)
	for _, p := range parts {
		if gathers {
			x, err := b.exchange(exchangeKey{z.number, AllGather, z.gathered}, v, m)
			if err != nil {
				return err
			}
			if at := z.gathered - 1 - b.Spec.Prefetch; at >= 0 {
				b.Graph.AddEdge(z.parts[at], x.ready[r], 0)
			}
			if end := b.end(x, r, m); end >= 0 {
				b.Graph.AddEdge(end, p.first, 0)
			}
			z.gathered++
			z.parts = append(z.parts, p.last)
		}
		if scatters {
			x, err := b.exchange(exchangeKey{z.number, ReduceScatter, z.scattered}, v, m)
			if err != nil {
				return err
			}
			b.Graph.AddEdge(p.last, x.ready[r], 0)
			z.scattered++
		}
	}
	return nil
}

// lastScattered returns the task after the last scatter of a replica's stage, or -1 where passes scatter nothing.
func (b *builder) lastScattered(r, stage int) int32 {
	x, ok := b.exchanges[exchangeKey{stage, ReduceScatter, b.scattered[stage] - 1}]
	if !ok {
		return -1
	}
	return b.end(x, r, Meta{Stage: int32(stage)})
}

// StageMessages calls visit with what a GPU of virtual stage v sends to other replicas, and to the other copy of its stage,
// beside calls in the graph: messages of so many bytes, how often each is sent, and in how many parts.
func (s *Spec) StageMessages(v int, visit func(bytes int64, times, parts int)) {
	if s.Replicas() > 1 {
		visit(s.SyncBytes(v), 1, s.SyncPieces(v))
	}
	for _, kind := range []CallKind{AllGather, ReduceScatter} {
		_, times := s.ShardCalls(v, kind)
		visit(s.ShardBytes(v, kind), times, 1)
	}
	if s.Copies() > 1 {
		for _, each := range []int{s.Choices.GradientBytes, s.Choices.ParameterBytes} {
			visit(s.CopyBytes(v, each), 1, s.SyncPieces(v))
		}
	}
}

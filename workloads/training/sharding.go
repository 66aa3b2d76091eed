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

// scattersGradients reports whether gradients are reduce-scattered in every backward pass, and gathers whether parameters are
// gathered for every pass.
func (s *Spec) scattersGradients() bool { return s.Sharding == ShardGradients || s.gathersParameters() }
func (s *Spec) gathersParameters() bool { return s.Sharding == ShardParameters }

// Shards returns how many parts of a pass of virtual stage v gather their parameters or scatter their gradients by
// themselves: those of buckets, or one a layer, and where calls are in the graph one a piece of the pass; 0 where none
// does.
func (s *Spec) Shards(v int) int {
	switch {
	case !s.scattersGradients() || s.Replicas()*s.StageCopies() == 1 && !s.CallsInGraph():
		return 0
	case s.Buckets > 0 && !s.CallsInGraph():
		return s.bucketCount(v)
	}
	return s.Pieces(v)
}

// MaxBuckets is the most buckets that a stage's gradients may fill.
const MaxBuckets = 1024

// bucketCount returns how many buckets the gradients of virtual stage v fill.
func (s *Spec) bucketCount(v int) int {
	return int(min(max(1, math.Ceil(s.stageGradientBytes(v)/float64(s.Buckets))), MaxBuckets+1))
}

func (s *Spec) stageGradientBytes(v int) float64 {
	return float64(s.Choices.GradientBytes) * s.Parameters(v)
}

// MinBucketBytes returns the least size of Buckets.
func (s *Spec) MinBucketBytes() float64 {
	maxBytes := 0.0
	for v := range s.VirtualStages() {
		maxBytes = max(maxBytes, s.stageGradientBytes(v))
	}
	return math.Ceil(maxBytes / MaxBuckets)
}

// SyncTaskCount returns about how many tasks there are of the parts in which a replica's passes gather parameters and scatter
// gradients, and in which gradients are synchronised after them, where each part is so many.
func (s *Spec) SyncTaskCount(each float64) (n float64) {
	for v := range s.VirtualStages() {
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
	if s.scattersGradients() && (s.Copies() > 1 || s.Measured != nil) {
		return fmt.Errorf("training: sharded %s under %s", s.Sharding, s.Schedule)
	}
	return nil
}

func (b *builder) shardCalls(v int, kind CallKind) []Call {
	calls, _ := b.Spec.ShardCalls(v, kind)
	return calls
}

// shardCollective is a collective of all replicas for a part of a pass, which the replicas join one by one as they are built.
type shardCollective struct {
	ready    []int32         // by replica: the task that waits for it
	done     [][]int32       // by replica, or where calls are in the graph by rank: the tasks that end it there
	endTasks map[int32]int32 // by replica: a task after all of these
}

// shardKey tells exchanges apart: those of a stage follow each other, gathers and scatters by themselves.
type shardKey struct {
	stage int
	kind  CallKind
	index int
}

// shardCollective returns the exchange of that key, which it builds when the first replica comes to it.
func (b *builder) shardCollective(k shardKey, v int, m TaskMeta) (*shardCollective, error) {
	if x, ok := b.shardCollectives[k]; ok {
		return x, nil
	}
	s := &b.Spec
	x := &shardCollective{endTasks: map[int32]int32{}}
	m.Phase, m.ToStage, m.GPU = Barrier, m.Stage, -1
	var before *shardCollective
	if k.index > 0 {
		before = b.shardCollectives[shardKey{k.stage, k.kind, k.index - 1}]
	}
	for r := range b.replicas {
		m.Replica = int32(r)
		x.ready = append(x.ready, b.addTask(engine.Task{}, m))
	}
	if b.shardCollectives == nil {
		b.shardCollectives = map[shardKey]*shardCollective{}
	}
	b.shardCollectives[k] = x
	if b.options.Expand == nil {
		m.Replica = 0
		x.done = make([][]int32, b.replicas)
		for _, g := range s.gradientGroups(v) {
			b.addShardGroup(k, v, g, m, x, before)
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
					both := b.addTask(engine.Task{}, m)
					b.Graph.AddEdge(ready[i], both, 0)
					for _, end := range before.done[rank] {
						b.Graph.AddEdge(end, both, 0)
					}
					ready[i] = both
				}
			}
			done, err := b.expandCall(c, group, ready, m)
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

// addShardGroup adds the part of exchange x that is of one group of parameters, after exchange
// before of the same stage; before may be nil. The copies in a stage scatter gradients before the
// ring of replicas does, and gather parameters after it. The ring starts when its last replica is
// ready.
func (b *builder) addShardGroup(k shardKey, v int, g gradientGroup, m TaskMeta, x, before *shardCollective) {
	ready := x.ready
	if g.hasCopies && k.kind == ReduceScatter {
		ready = nil
		for r, id := range x.ready {
			after := []int32{id}
			if before != nil {
				after = append(after, before.done[r]...)
			}
			ready = append(ready, b.addCopySync(CopyScatter, r, v, after))
		}
	}
	all := b.addTask(engine.Task{}, m)
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
			done = b.addRing(r, v, g.portion(b.Spec.ShardBytes(v, k.kind)), done)
		}
		if g.hasCopies && k.kind == AllGather {
			done = []int32{b.addCopySync(CopyGather, r, v, done)}
		}
		x.done[r] = append(x.done[r], done...)
	}
}

// endTask returns a task after all that ends an exchange in a replica's stage, or -1 where nothing does.
func (b *builder) endTask(x *shardCollective, r int, m TaskMeta) int32 {
	if id, ok := x.endTasks[int32(r)]; ok {
		return id
	}
	var all []int32
	if b.options.Expand == nil {
		all = x.done[r]
	} else {
		for g := range b.Spec.StageGPUs() {
			all = append(all, x.done[b.Spec.Rank(r, int(m.Stage), g)]...)
		}
	}
	id := int32(-1)
	if len(all) > 0 {
		m.Phase, m.Replica, m.GPU = Barrier, int32(r), -1
		id = b.addTask(engine.Task{}, m)
		for _, end := range all {
			b.Graph.AddEdge(end, id, 0)
		}
	}
	x.endTasks[int32(r)] = id
	return id
}

// addShards has the parts of a pass wait for their parameters, which are gathered no earlier than the part so many before
// begins (Spec.Prefetch), and scatter their gradients when they have computed them.
func (b *builder) addShards(z *stageBuilder, v int, m TaskMeta, parts []passTasks, gathers, scatters bool) error {
	r := int(m.Replica)
	for _, p := range parts {
		if gathers {
			x, err := b.shardCollective(shardKey{z.number, AllGather, z.numGathers}, v, m)
			if err != nil {
				return err
			}
			if at := z.numGathers - 1 - b.Spec.Prefetch; at >= 0 {
				b.Graph.AddEdge(z.gatherEnds[at], x.ready[r], 0)
			}
			if end := b.endTask(x, r, m); end >= 0 {
				b.Graph.AddEdge(end, p.first, 0)
			}
			z.numGathers++
			z.gatherEnds = append(z.gatherEnds, p.last)
		}
		if scatters {
			x, err := b.shardCollective(shardKey{z.number, ReduceScatter, z.numScatters}, v, m)
			if err != nil {
				return err
			}
			b.Graph.AddEdge(p.last, x.ready[r], 0)
			z.numScatters++
		}
	}
	return nil
}

// lastScatter returns the task after the last scatter of a replica's stage, or -1 where passes scatter nothing.
func (b *builder) lastScatter(r, stage int) int32 {
	x, ok := b.shardCollectives[shardKey{stage, ReduceScatter, b.numScatters[stage] - 1}]
	if !ok {
		return -1
	}
	return b.endTask(x, r, TaskMeta{Stage: int32(stage)})
}

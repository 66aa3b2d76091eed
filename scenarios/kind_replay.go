package scenarios

import (
	"fmt"
	"slices"
)

// maxPlays bounds the plays of a replay.
const maxPlays = 100_000

// perturbed are the keys of [replay] that say what differs from the plan.
var perturbed = []string{"compute_jitter", "stage_jitter", "slow_replica", "lost_circuits", "sequence"}

// replayTable describes the table of replays. Where the file has none, Seeds
// is 0 and all else holds nothing.
func replayTable() table {
	return table{
		path: "replay", keys: replayKeys(),
		doc: "Topologies decided for the plan, played many times under what was not planned for. Give at least one of " +
			quotedList(perturbed) + ".",
		when: &condition{
			keys: []string{"replay.seeds"},
			ok:   func(s *Scenario) bool { return s.Replay.Seeds > 0 },
			by:   func(*Scenario) string { return "the scenario" },
			want: "write the table: without it nothing is replayed",
		},
	}
}

func replayKeys() []key {
	of := func(f func(r *Replay) any) func(*Scenario, int) any {
		return func(s *Scenario, _ int) any { return f(&s.Replay) }
	}
	return []key{
		defaultsTo(100, key{
			name: "seeds", doc: "plays, each with a seed of its own that follows from the scenario's", min: 1, max: maxPlays,
			field: of(func(r *Replay) any { return &r.Seeds }),
		}),
		defaultsTo(0.0, key{
			name: "compute_jitter", doc: "coefficient of variation of every pass's time: a lognormal factor with mean 1", max: 10,
			field: of(func(r *Replay) any { return &r.ComputeJitter }),
		}),
		defaultsTo(0.0, key{
			name: "stage_jitter", doc: "the same of a factor that all passes of a stage of a replica share", max: 10,
			field: of(func(r *Replay) any { return &r.StageJitter }),
		}),
		defaultsTo(1.0, key{
			name: "slow_replica", doc: "compute of one replica takes this many times as long", min: 1, max: 1000,
			field: of(func(r *Replay) any { return &r.SlowReplica }),
		}),
		defaultsTo(-1, key{
			name: "slow_replica_index", doc: "which replica is slow, from 0; -1 draws one for each play", min: -1, max: 1e8,
			field: of(func(r *Replay) any { return &r.SlowReplicaIndex }),
		}),
		defaultsTo(0, key{
			name: "lost_circuits", doc: "circuits, drawn among all that are lit, that go dark and stay so", max: 1e6,
			field: of(func(r *Replay) any { return &r.LostCircuits }),
		}),
		defaultsTo("start", key{
			name: "lost_when", doc: "whether they are dark from the start, or from a random time in the iteration on", choices: fixed("start", "random"),
			field: of(func(r *Replay) any { return &r.LostWhen }),
		}),
		{
			name: "sequence", doc: "tokens a sample in the replays", min: 1, max: 1e9,
			field:   of(func(r *Replay) any { return &r.Sequence }),
			fillDoc: "workload.sequence",
			fill:    func(s *Scenario, _ int) { s.Replay.Sequence = s.Workload.Sequence },
		},
		defaultsTo("nominal", key{
			name: "priorities", doc: "where transfers have priorities, whether these follow from the plan or from what each play will turn out to be",
			choices: fixed("nominal", "clairvoyant"),
			field:   of(func(r *Replay) any { return &r.Priorities }),
		}),
	}
}

// unlike reports whether replays make replicas differ that the plan need not
// tell apart: all of them must then be played.
func (r *Replay) unlike() bool {
	return r.ComputeJitter > 0 || r.StageJitter > 0 || r.SlowReplica > 1 || r.LostCircuits > 0
}

// prepareReplay leaves the table out where the file has none.
func prepareReplay(c *checker) {
	if !c.given("replay") {
		c.settled["replay"] = true
	}
}

func replayPath(key string) string { return joinPath("replay", key) }

// checkReplay holds the replays against the job and its fabric.
func checkReplay(c *checker) {
	if !c.given("replay") || c.s.Workload.Kind != "training" { // checkOCSPods has said so
		return
	}
	said := slices.ContainsFunc(perturbed, func(k string) bool { return c.given(replayPath(k)) || !c.ok(replayPath(k)) })
	if !said {
		c.fault("replay", "perturbs nothing", "give at least one of "+quotedList(perturbed)+", or leave the table out")
	}
	for _, k := range [][2]string{{"slow_replica_index", "slow_replica"}, {"lost_when", "lost_circuits"}} {
		if name, of := replayPath(k[0]), replayPath(k[1]); c.given(name) && !c.given(of) && c.ok(name, of) {
			c.fault(name, "is not used without "+k[1], "give "+k[1]+" too, or leave it out")
		}
	}
	t := &c.s.Workload.Training
	if !c.ok(shape...) || t.GPUs%(t.PP*t.StageGPUs()) != 0 {
		return
	}
	if at, n := replayPath("slow_replica_index"), t.ReplicaCount(); c.ok(at) && c.s.Replay.SlowReplicaIndex >= n {
		c.clash([]string{at}, fmt.Sprintf("there is no replica %d", c.s.Replay.SlowReplicaIndex),
			fmt.Sprintf("choose one from 0 to %d, or -1 to have one drawn", n-1))
	}
	if len(c.faults) == 0 {
		checkReplayed(c)
	}
}

// checkReplayed holds that what is replayed can be. All keys must be sound.
func checkReplayed(c *checker) {
	s, r := c.s, &c.s.Replay
	replicas := s.Workload.ReplicaCount()
	ports := replicas * s.Fabric.PortsPerPod
	for i := range s.Replicas {
		ports += s.Replicas[i].PortsPerPod - s.Fabric.PortsPerPod
	}
	ports *= s.PodsPerReplica()
	if r.LostCircuits > ports/2 {
		c.clash([]string{replayPath("lost_circuits")},
			fmt.Sprintf("%d circuits are more than the %d that %d ports can light", r.LostCircuits, ports/2, ports), "lose fewer")
	}
	other := *s
	other.Workload.Sequence = r.Sequence
	if f := faultOf(c, &other, checkSizes, checkLength); f != nil {
		c.clash([]string{replayPath("sequence")}, fmt.Sprintf("with %d tokens a sample, %s", r.Sequence, f.What), f.Want)
	}
	other = *s
	other.Workload.ReplicaMode = "all"
	if f := faultOf(c, &other, checkTasks); f != nil && r.unlike() {
		c.clash([]string{"replay"}, fmt.Sprintf("plays all %d replicas, as what it perturbs makes them unlike: %s", replicas, f.What), f.Want)
	}
}

// faultOf returns the first fault that checks find in another scenario, nil if
// there is none.
func faultOf(c *checker, s *Scenario, checks ...func(*checker)) *Fault {
	other := *c
	other.s, other.faults = s, nil
	for _, check := range checks {
		if check(&other); len(other.faults) > 0 {
			return &other.faults[0]
		}
	}
	return nil
}

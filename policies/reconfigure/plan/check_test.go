package plan_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/plan"
	"sim/policies/reconfigure/plan/plantest"
)

func clone(p *plan.Plan) *plan.Plan {
	q := *p
	q.Chunks, q.Slots, q.Tx = slices.Clone(p.Chunks), slices.Clone(p.Slots), slices.Clone(p.Tx)
	q.Topologies = nil
	for _, t := range p.Topologies {
		q.Topologies = append(q.Topologies, slices.Clone(t))
	}
	return &q
}

// mutate draws a plan that may break a rule.
func mutate(t *rapid.T, p *plan.Plan) *plan.Plan {
	q := clone(p)
	for range rapid.IntRange(1, 2).Draw(t, "mutations") {
		by := int32(rapid.SampledFrom([]int{-1, 1}).Draw(t, "by"))
		kind := rapid.IntRange(0, 13).Draw(t, "kind")
		if len(q.Tx) == 0 && kind <= 9 {
			kind = 10 + kind%4
		}
		x := 0
		if kind <= 9 {
			x = rapid.IntRange(0, len(q.Tx)-1).Draw(t, "transmission")
		}
		switch kind {
		case 0:
			q.Tx[x].Phase += by
		case 1:
			q.Tx[x].Slot += by
		case 2:
			q.Tx[x].From += by
		case 3:
			q.Tx[x].To += by
		case 4:
			q.Tx[x].Src += by
		case 5:
			q.Tx[x].Dst += by
		case 6:
			q.Tx[x].Chunk += by
		case 7:
			q.Tx = slices.Delete(q.Tx, x, x+1)
		case 8:
			q.Tx = append(q.Tx, q.Tx[x])
		case 9:
			y := rapid.IntRange(0, len(q.Tx)-1).Draw(t, "other")
			q.Tx[x].Slot, q.Tx[y].Slot = q.Tx[y].Slot, q.Tx[x].Slot
		case 10:
			q.Slots[rapid.IntRange(0, len(q.Slots)-1).Draw(t, "phase")] += by
		case 11:
			q.Buffer += by
		case 12:
			q.Relay = !q.Relay
		case 13:
			top := q.Topologies[rapid.IntRange(0, len(q.Topologies)-1).Draw(t, "phase")]
			top[rapid.IntRange(0, len(top)-1).Draw(t, "edge")].To += by
		}
	}
	return q
}

// holds is the reference: it decides by other means than Check whether a plan keeps all
// rules. It follows each chunk, and counts per link, per GPU and slot.
func holds(p *plan.Plan) bool {
	n := int32(p.GPUs)
	if slices.Min(p.Slots) < 0 || p.Buffer < 0 {
		return false
	}
	for _, t := range p.Topologies {
		for u := range n {
			out, in := 0, 0
			for _, e := range t {
				if min(e.From, e.To) < 0 || max(e.From, e.To) >= n {
					return false
				}
				if e.From == u {
					out++
				}
				if e.To == u {
					in++
				}
			}
			if max(out, in) > p.Degree {
				return false
			}
		}
	}
	type link struct{ phase, slot, from, to int32 }
	carries := map[link]int{}
	moves := 0
	type moment struct{ phase, slot, gpu int32 }
	change, holdsNow := map[moment]int{}, 0
	for f := range n * n {
		src, dst := f/n, f%n
		for c := range p.Chunks[f] {
			var own []plan.Tx
			for _, x := range p.Tx {
				if x.Src == src && x.Dst == dst && x.Chunk == c {
					own = append(own, x)
				}
			}
			moves += len(own)
			slices.SortFunc(own, func(a, b plan.Tx) int {
				if a.Phase != b.Phase {
					return int(a.Phase - b.Phase)
				}
				return int(a.Slot - b.Slot)
			})
			at := src
			for i, x := range own {
				if x.Phase < 0 || int(x.Phase) >= len(p.Topologies) || x.Slot < 0 || x.Slot >= p.Slots[x.Phase] || x.From != at {
					return false
				}
				if i > 0 && (x.Phase == own[i-1].Phase && x.Slot == own[i-1].Slot || x.Phase != own[i-1].Phase && !p.Relay) {
					return false
				}
				if at = x.To; at != dst {
					change[moment{x.Phase, x.Slot, at}]++
				}
				if x.From != src {
					change[moment{x.Phase, x.Slot, x.From}]--
				}
				l := link{x.Phase, x.Slot, x.From, x.To}
				carries[l]++
				have := 0
				for _, e := range p.Topologies[x.Phase] {
					if e.From == x.From && e.To == x.To {
						have++
					}
				}
				if carries[l] > have {
					return false
				}
			}
			if at != dst {
				return false
			}
		}
	}
	for u := range n {
		holdsNow = 0
		for i, slots := range p.Slots {
			for s := range slots {
				if holdsNow += change[moment{int32(i), s, u}]; holdsNow > int(p.Buffer) {
					return false
				}
			}
		}
	}
	return moves == len(p.Tx)
}

// python returns the verdict of the independent checker on each plan, or skips the test.
// The checker shares no code with this package.
func python(t *testing.T, plans []*plan.Plan) []bool {
	t.Helper()
	checker, err := filepath.Abs("../../../../shared/tools/check_schedule.py")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(checker); err != nil {
		t.Skipf("no independent checker: %v", err)
	}
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		t.Skipf("no independent checker: %v", err)
	}
	var text bytes.Buffer
	if err := plan.WriteJSON(&text, plans); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "plans.json")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(interpreter, checker, file).Output() // fails where a plan does
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(plans) {
		t.Fatalf("%d verdicts on %d plans: %v\n%s", len(lines), len(plans), err, out)
	}
	verdicts := make([]bool, len(plans))
	for i, l := range lines {
		verdicts[i] = strings.Contains(l, ": holds, ")
	}
	return verdicts
}

// Check, the reference and the independent checker agree on plans that may break a rule.
func TestCheckMutated(t *testing.T) {
	var plans []*plan.Plan
	var broken []error
	rapid.Check(t, func(t *rapid.T) {
		p := plantest.Draw(t)
		if !holds(p) || p.Check() != nil {
			t.Fatalf("a plan that was drawn does not hold: %v", p.Check())
		}
		for range 4 {
			q := mutate(t, p)
			sealed := clone(q)
			err := sealed.Seal()
			if err == nil {
				sealed.Buffer = q.Buffer
				err = sealed.Check()
			}
			if err != nil && !errors.Is(err, plan.ErrBroken) {
				t.Fatalf("%v is no ErrBroken", err)
			}
			if want := holds(q); want != (err == nil) {
				t.Fatalf("%v, by the slow way %t: %+v", err, want, q)
			}
			plans, broken = append(plans, q), append(broken, err)
		}
		plans, broken = append(plans, p), append(broken, nil)
	})
	verdicts := python(t, plans)
	good := 0
	for i, v := range verdicts {
		if v {
			good++
		}
		if v != (broken[i] == nil) {
			t.Errorf("%v, the independent checker says %t: %+v", broken[i], v, plans[i])
		}
	}
	t.Logf("%d of %d plans hold", good, len(plans))
	if good*10 < len(plans) || good*10 > 9*len(plans) {
		t.Errorf("%d of %d plans hold: that tells little", good, len(plans))
	}
}

// Transmissions that are not sorted are rejected.
func TestCheckUnsealed(t *testing.T) {
	p := relayed()
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	p.Tx[0].Phase, p.Tx[1].Phase = 1, 0 // in the order of the list all would be well
	if err := p.Check(); !errors.Is(err, plan.ErrBroken) || !strings.Contains(err.Error(), "must be sealed first") {
		t.Error(err)
	}
}

// relayed is a chunk 0->2 that goes over GPU 1 and rests there across a reconfiguration.
func relayed() *plan.Plan {
	return &plan.Plan{
		Name: "relayed", GPUs: 3, Degree: 1, Relay: true, Chunks: []int32{0, 0, 1, 0, 0, 0, 0, 0, 0},
		Topologies: []scaleup.Topology{scaleup.Circulant(3, 1), scaleup.Circulant(3, 1)}, Slots: []int32{1, 1}, Buffer: 1,
		Tx: []plan.Tx{{Phase: 0, From: 0, To: 1, Src: 0, Dst: 2}, {Phase: 1, From: 1, To: 2, Src: 0, Dst: 2}},
	}
}

// An error names the rule and the transmission that breaks it.
func TestCheckNames(t *testing.T) {
	for want, change := range map[string]func(p *plan.Plan){
		"chunk 0 of 0->2 on 1->2 in slot 0 of phase 1: the chunk rested across":            func(p *plan.Plan) { p.Relay = false },
		"chunk 0 of 0->2 on 1->2 in slot 1 of phase 1: no such slot":                       func(p *plan.Plan) { p.Tx[1].Slot = 1 },
		"chunk 0 of 0->2 on 1->2 in slot 0 of phase 2: no such slot":                       func(p *plan.Plan) { p.Tx[1].Phase = 2 },
		"chunk 0 of 0->2 on 1->0 in slot 0 of phase 1: 1 chunks in one slot on a":          func(p *plan.Plan) { p.Tx[1].To = 0 },
		"chunk 0 of 0->2 on 2->0 in slot 0 of phase 1: the chunk is at GPU 1":              func(p *plan.Plan) { p.Tx[1].From, p.Tx[1].To = 2, 0 },
		"chunk 0 of 0->2 on 1->3 in slot 0 of phase 1: a GPU outside":                      func(p *plan.Plan) { p.Tx[1].To = 3 },
		"chunk 1 of 0->2 on 1->2 in slot 0 of phase 1: the flow has 1 chunks":              func(p *plan.Plan) { p.Tx[1].Chunk = 1 },
		"chunk 0 of 0->2 on 1->2 in slot 0 of phase 0: the chunk moves twice":              func(p *plan.Plan) { p.Tx[1].Phase = 0 },
		"chunk 0 of 0->2 ends at GPU 1":                                                    func(p *plan.Plan) { p.Tx = p.Tx[:1] },
		"a GPU holds 1 chunks in transit between slots; the plan states 0":                 func(p *plan.Plan) { p.Buffer = 0 },
		"topology 1: scaleup: the switches cannot form this topology: edge 0->1 is one":    func(p *plan.Plan) { p.Topologies[1][1].From = 0; p.Topologies[1][0].To = 0; p.Topologies[1][1].To = 1 },
		"slots of 1 phases for 2 topologies":                                               func(p *plan.Plan) { p.Slots = p.Slots[:1] },
		"phase 0 takes -1 slots":                                                           func(p *plan.Plan) { p.Slots[0] = -1 },
		"chunks from GPU 1 to GPU 1":                                                       func(p *plan.Plan) { p.Chunks[4] = 1 },
		"want at least 2 GPUs and a degree":                                                func(p *plan.Plan) { p.Degree = 3 },
		"more than 2147483646 chunks for 2 transmissions":                                  func(p *plan.Plan) { p.Chunks[1], p.Chunks[3] = 1<<31-1, 1 },
		"chunk 0 of 0->2 on 0->1 in slot 0 of phase 0: 2 chunks in one slot on a":          func(p *plan.Plan) { p.Tx = append(p.Tx, p.Tx[0]) },
		"switches down for 2 slots, but the plan has no switches":                          func(p *plan.Plan) { p.DelaySlots = 2 },
		"topology 1: switches of 2 edges, want 3":                                          func(p *plan.Plan) { p.Switches = [][]int32{{0, 0, 0}, {0, 0}} },
		"topology 1: edge 2->0 is on switch 1 of 1":                                        func(p *plan.Plan) { p.Switches = [][]int32{{0, 0, 0}, {0, 0, 1}} },
		"switches of 1 topologies, want 2":                                                 func(p *plan.Plan) { p.Switches = [][]int32{{0, 0, 0}} },
		"switch 0 has new links in phase 0 after it was down for 0 slots; want at least 1": func(p *plan.Plan) { p.Switches, p.DelaySlots = [][]int32{{0, 0, 0}, {0, 0, 0}}, 1 },
		"topology 0: edges 0->1 and 0->2 share a GPU's port on switch 0": func(p *plan.Plan) {
			p.Degree, p.Topologies[0], p.Switches = 2, scaleup.Circulant(3, 1, 2), [][]int32{{0, 0, 0, 0, 0, 0}, {0, 0, 0}}
		},
	} {
		p := relayed()
		change(p)
		claimed := p.Buffer
		err := p.Seal()
		if err == nil {
			p.Buffer = claimed
			err = p.Check()
		}
		if !errors.Is(err, plan.ErrBroken) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// The rule of down time is compared with the state of each switch in each slot.
func TestSwitchesBySlot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n, k = 4, 2
		p := &plan.Plan{GPUs: n, Degree: k, Chunks: make([]int32, n*n), DelaySlots: int32(rapid.IntRange(0, 4).Draw(t, "delay"))}
		timeline := make([][]int, k) // by switch and slot: the offset that it has, 0 for darkness
		for range rapid.IntRange(1, 6).Draw(t, "phases") {
			slots := rapid.IntRange(1, 3).Draw(t, "slots")
			top, on := scaleup.Topology{}, []int32{}
			for s := range k {
				offset := rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "offset")
				if offset > 0 {
					top = append(top, scaleup.Circulant(n, offset)...)
					on = append(on, slices.Repeat([]int32{int32(s)}, n)...)
				}
				timeline[s] = append(timeline[s], slices.Repeat([]int{offset}, slots)...)
			}
			p.Topologies, p.Switches, p.Slots = append(p.Topologies, top), append(p.Switches, on), append(p.Slots, int32(slots))
		}
		want := true
		for _, line := range timeline {
			had, dark := 0, int32(0)
			for _, now := range line {
				if now == 0 {
					dark++
					continue
				}
				if now != had && dark < p.DelaySlots {
					want = false
				}
				had, dark = now, 0
			}
		}
		if err := p.Seal(); (err == nil) != want {
			t.Fatalf("%v, want %t: %v, %d", err, want, timeline, p.DelaySlots)
		}
	})
}

package plan_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/plan"
	"sim/policies/reconfigure/plan/plantest"
)

const relayedJSON = `[
{"name":"relayed","n":3,"k":1,"relay":true,
"chunks":[[0,0,1],[0,0,0],[0,0,0]],
"topologies":[
[[0,1],[1,2],[2,0]],
[[0,1],[1,2],[2,0]]],
"slots":[1,1],"buffer":1,
"tx":[
[0,0,0,1,0,2,0],
[1,0,1,2,0,2,0]]}
]
`

func written(t rapid.TB, plans ...*plan.Plan) string {
	t.Helper()
	var b bytes.Buffer
	if err := plan.WriteJSON(&b, plans); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWriteJSON(t *testing.T) {
	if got := written(t, relayed()); got != relayedJSON {
		t.Errorf("%s\nwant %s", got, relayedJSON)
	}
	if got := written(t); got != "[\n]\n" {
		t.Errorf("%q", got)
	}
	p := relayed()
	p.Name = "\"\x01<é"
	p.Switches, p.DelaySlots = [][]int32{{0, 0, 0}, {0, 0, 0}}, 0
	got := written(t, p)
	if !strings.Contains(got, "\"switches\":[\n[0,0,0],\n[0,0,0]],\n\"delay_slots\":0,\n") {
		t.Error(got)
	}
	back, err := plan.ReadJSON(strings.NewReader(got), "x.json")
	if err != nil || !reflect.DeepEqual(back, []*plan.Plan{p}) {
		t.Errorf("%+v %v", back, err)
	}
	if !python(t, []*plan.Plan{p})[0] {
		t.Error("the independent checker refuses a plan with switches")
	}
}

// Plans are read back unchanged, in any order of their transmissions. Truncated text is
// rejected.
func TestJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var plans []*plan.Plan
		for range rapid.IntRange(1, 3).Draw(t, "plans") {
			plans = append(plans, plantest.Draw(t))
		}
		text := written(t, plans...)
		back, err := plan.ReadJSON(strings.NewReader(text), "x.json")
		if err != nil || text != written(t, back...) {
			t.Fatal(err, text)
		}
		shuffled := *plans[0]
		if len(shuffled.Tx) > 1 {
			shuffled.Tx = rapid.Permutation(shuffled.Tx).Draw(t, "order")
		}
		one, err := plan.ReadJSON(strings.NewReader(strings.Trim(written(t, &shuffled), "[\n]")), "x.json")
		if err != nil || written(t, one...) != written(t, plans[0]) {
			t.Fatal(err)
		}
		cut := rapid.IntRange(0, len(strings.TrimSpace(text))-1).Draw(t, "cut")
		if _, err := plan.ReadJSON(strings.NewReader(text[:cut]), "x.json"); !errors.Is(err, plan.ErrJSON) {
			t.Fatalf("%v: cut to %s", err, text[:cut])
		}
	})
}

func TestReadJSONBad(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"n":3`, `"N":3`, `plan 0: a member of unknown name`},
		{`"n":3,`, ``, `member "n" is missing`},
		{`"n":3,`, `"n":3,"n":3,`, `member "n" comes twice`},
		{`"n":3`, `"n":4`, `member "chunks": 3 rows; want n = 4`},
		{`[0,0,1]`, `[0,0,1,0]`, `member "chunks": row 0 has 4 entries; want n = 3`},
		{`"k":1`, `"k":"1"`, `member "k": it has another value; want a whole number`},
		{`"k":1`, `"k":[1]`, `member "k": it has another value; want a whole number`},
		{`"k":1`, `"k":null`, `member "k"`},
		{`"k":1`, `"k":1.5`, `it has another value; want a whole number`},
		{`"k":1`, `"k":1e0`, `it has another value; want a whole number`},
		{`"k":1`, `"k":2147483648`, `it has another value; want a whole number`},
		{`"k":1`, `"k":99999999999999999999999`, `it has another value; want a whole number`},
		{`"relay":true`, `"relay":1`, `member "relay": it has another value; want true or false`},
		{`"name":"relayed"`, `"name":3`, `member "name": it has another value; want a text`},
		{`[0,0,0,1,0,2,0]`, `[0,0,0,1,0,2]`, `member "tx": entry 0 is of 6 numbers; want 7`},
		{`[1,0,1,2,0,2,0]`, `[1,0,1,2,0,2,0,9]`, `member "tx": entry 1 is of 8 numbers; want 7`},
		{`[1,0,1,2,0,2,0]`, `7`, `member "tx": entry 1 is none; want a list of lists`},
		{`[1,0,1,2,0,2,0]`, `[1,0,1,2,0,2,[0]]`, `member "tx": entry 1 is none; want a list of lists`},
		{`[[0,1],[1,2],[2,0]],`, `[[0,1,2],[1,2],[2,0]],`, `member "topologies": entry 0: edge 0 is of 3 numbers; want 2`},
		{`[[0,1],[1,2],[2,0]],`, `3,`, `member "topologies": entry 0 is none; want`},
		{`"slots":[1,1]`, `"slots":[[1,1]]`, `member "slots": entry 0 is none; want a list of whole numbers`},
		{`"slots":[1,1]`, `"slots":{"a":1}`, `member "slots": it has another value; want a list of whole numbers`},
		{`"slots":[1,1]`, `"slots":[1,null]`, `member "slots": entry 1 is none; want`},
		{`"slots":[1,1]`, `"slots":[1,1],"parts":1`, `member "parts": a plan with "op" goes in steps`},
		{`"slots":[1,1]`, `"delay_slots":1,"slots":[1,1]`, `"delay_slots" is of no use without`},
		{"]}\n]\n", "]}\n]\n3", "something follows"},
		{"]}\n]\n", "]},\n]\n", "plan: no plans in JSON"},
		{"]}\n]\n", "]}", "the text ends at byte"},
		{`[
{`, `[3,{`, "plan 0 is no object"},
		{`[
{`, `3 {`, "want a list of plans"},
	} {
		text := strings.Replace(relayedJSON, c.old, c.new, 1)
		if text == relayedJSON {
			t.Fatalf("%q is not there", c.old)
		}
		if _, err := plan.ReadJSON(strings.NewReader(text), "x.json"); !errors.Is(err, plan.ErrJSON) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "x.json") {
			t.Errorf("%q: %v, want %q", c.new, err, c.want)
		}
	}
	broken := strings.Replace(relayedJSON, `[1,0,1,2,0,2,0]`, `[1,0,1,0,0,2,0]`, 1)
	if _, err := plan.ReadJSON(strings.NewReader(broken), "x.json"); !errors.Is(err, plan.ErrBroken) || !strings.Contains(err.Error(), `x.json: plan 0 "relayed"`) || !strings.Contains(err.Error(), "on 1->0 in slot 0 of phase 1") {
		t.Error(err)
	}
	few := strings.Replace(relayedJSON, `"buffer":1`, `"buffer":0`, 1)
	if _, err := plan.ReadJSON(strings.NewReader(few), "x.json"); !errors.Is(err, plan.ErrBroken) {
		t.Error(err)
	}
	none := strings.Replace(relayedJSON, `"buffer":1,`, ``, 1)
	none = strings.Replace(none, `],"buffer`, `],"buffer`, 1)
	if p, err := plan.ReadJSON(strings.NewReader(none), "x.json"); err != nil || p[0].Buffer != 1 {
		t.Error(p, err)
	}
}

func BenchmarkJSON(b *testing.B) {
	const n = 64
	p := &plan.Plan{GPUs: n, Degree: 1, Chunks: plan.UniformProblem(n, 1, 1).Chunks, Topologies: []scaleup.Topology{scaleup.Circulant(n, 1)}}
	for far := 1; far < n; far++ {
		for h := range far {
			for u := range n {
				p.Tx = append(p.Tx, plan.Tx{Slot: int32(far*(far-1)/2 + h), From: int32((u + h) % n), To: int32((u + h + 1) % n), Src: int32(u), Dst: int32((u + far) % n)})
			}
		}
	}
	p.Slots = []int32{n * (n - 1) / 2}
	if err := p.Seal(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var text bytes.Buffer
		if err := plan.WriteJSON(&text, []*plan.Plan{p}); err != nil {
			b.Fatal(err)
		}
		if _, err := plan.ReadJSON(&text, "x"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(p.Tx)*b.N)/b.Elapsed().Seconds(), "tx/s")
}

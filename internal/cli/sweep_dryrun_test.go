package cli

import (
	"regexp"
	"testing"

	"sim/scenarios"
	"sim/scenarios/study"
)

// TestAnnounce: a message with the predicted time precedes a long sweep, and no other sweep.
func TestAnnounce(t *testing.T) {
	for _, c := range []struct {
		study string
		set   []string
		want  string
	}{
		{"fluid", nil, `^sim: fluid has 40 cells to compute, which takes about \d+ s on 2 processors, by some \S+ hops of packets\n$`},
		{"latency-load", nil, `^sim: latency-load has 19 cells to compute, `},
		{"latency-load", []string{"fabric.dims=[4, 4]"}, `^$`},
		{"gpt7b", nil, `^$`},
	} {
		st, err := scenarios.LoadStudy(c.study, c.set)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := study.NewPlan(t.Context(), st)
		if err != nil {
			t.Fatal(err)
		}
		cmd, _, stderr := newBufferedCommand()
		flags := sweepFlags{runFlags: runFlags{workers: 2}}
		if err := cmd.announce(t.Context(), plan, study.ReadStore(t.TempDir()), flags); err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(c.want).MatchString(stderr.String()) {
			t.Errorf("%s %v: %q, want %s", c.study, c.set, stderr, c.want)
		}
	}
}

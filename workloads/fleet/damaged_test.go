package fleet

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"testing"
)

// place is the file and line that begin an error.
var place = regexp.MustCompile(`log:\d+`)

// TestDamagedLogs: a log of each form is read after it is cut off anywhere, or after any byte
// is replaced. The result is as stored: the jobs or outages, or the line of the error.
func TestDamagedLogs(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       uint64
	}{
		{"rfold", "# id\n0,1.5,T3D_T,4x4x8,128,60\n1,2,CLOS,48,48,0\n", 0x7d1e3c36fb64d252},
		{"helios", helios + "a,u,v,8,1,1,COMPLETED,2020-04-01 00:00:10,2020-04-01 00:00:20,2020-04-01 00:01:20,60,10\n" +
			"d,u,v,1.0,1,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:00:20,2020-04-01 00:00:50,,\n", 0xf31260ac359aa6d2},
		{"philly", philly, 0x5d02ed2dc18bc63f},
		{"swf", swf, 0xa47411d9152a388a},
		{"faults", "[\n" + faultEntry("c", 0.5, "end") + ",\n" + faultEntry("a", 1, "start") + ",\n" + faultEntry("a", 3, "end") + ",\n" + faultEntry("b", 3.5, "start") + "]", 0x3fa0a63c7eb5427},
	} {
		digest := fnv.New64a()
		look := func(data []byte) {
			var err error
			if c.name == "faults" {
				var f *FaultLog
				if f, err = ReadFaults("log", data, 4); err == nil {
					fmt.Fprintln(digest, f.Servers, f.Span, f.NumOpen)
				}
			} else {
				var l *JobLog
				if l, err = testDemand().ReadJobs(c.name, "log", data); err == nil {
					fmt.Fprintln(digest, l.Words())
					for _, j := range l.Jobs {
						fmt.Fprintln(digest, j.Number, j.Submit, j.Shape, j.Work, j.Estimate)
					}
				}
			}
			if err != nil {
				fmt.Fprintln(digest, "error", place.FindString(err.Error()))
			}
		}
		look([]byte(c.text))
		for i := range c.text {
			look([]byte(c.text[:i]))
			for _, other := range []byte{'1', '-', '\n', c.text[i] ^ 0x01} {
				damaged := slices.Clone([]byte(c.text))
				damaged[i] = other
				look(damaged)
			}
		}
		if got := digest.Sum64(); got != c.want {
			t.Errorf("%s: digest %#x, want %#x", c.name, got, c.want)
		}
	}
}

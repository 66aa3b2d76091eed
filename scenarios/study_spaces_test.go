package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const spacesBase = `
[workload]
kind = "all-to-all"
message = "1MB"
[fabric]
kind = "torus"
dims = [4, 4, 4]
link_rate = "400Gbps"
[engine]
level = "static"
`

// TestNamedSpaces: named search spaces have the values that a list would have. Twists are left
// out if they are equal for all shapes, or impossible.
func TestNamedSpaces(t *testing.T) {
	for _, c := range []struct {
		keys  string // at the end of the file
		set   string
		axis  string
		count int
		first string
	}{
		{"[sweep]\n\"fabric.dims\" = \"shapes of 64\"", "", "fabric.dims", 3, "[2, 2, 16]"},
		{"[sweep]\nfabric.dims = \"shapes of 512\"", "", "fabric.dims", 7, "[2, 2, 128]"},
		{"", "fabric.dims=shapes of 64", "fabric.dims", 3, "[2, 2, 16]"},
		{"", "fabric.dims=[4,4,4], [2,4,8]", "fabric.dims", 2, "[4, 4, 4]"},
		{"[sweep]\n\"fabric.twist\" = \"all\"", "", "fabric.twist", 64, "000000"},
		{"", "fabric.twist=all", "fabric.twist", 64, "000000"},
		// A shift along a dimension of one node has no effect: 4 of 6 bits remain.
		{"[sweep]\n\"fabric.twist\" = \"all\"\n\"fabric.dims\" = [[1, 4, 4]]", "", "fabric.twist", 16, "000000"},
		{"[sweep]\n\"fabric.twist\" = \"all\"\n\"fabric.dims\" = [[1, 4, 4], [4, 4, 4]]", "", "fabric.twist", 64, "000000"},
		// An open dimension cannot be twisted: 4 of 6 bits remain.
		{"[fabric]\nopen = [\"x\"]\n[sweep]\n\"fabric.twist\" = \"all\"", "", "fabric.twist", 16, "000000"},
	} {
		file := spacesBase
		if keys, ok := strings.CutPrefix(c.keys, "[fabric]\n"); ok {
			open, rest, _ := strings.Cut(keys, "\n")
			file = strings.Replace(file, "dims = ", open+"\ndims = ", 1)
			c.keys = rest
		}
		var set []string
		if c.set != "" {
			set = []string{c.set}
		}
		st, err := ParseStudy("s.toml", []byte(file+c.keys), set)
		if err != nil {
			t.Errorf("%s %s: %v", c.keys, c.set, err)
			continue
		}
		i := slices.IndexFunc(st.Axes, func(a Axis) bool { return a.Name == c.axis })
		if i < 0 || len(st.Axes[i].Values) != c.count || len(st.Axes[i].Labels) != c.count || st.Axes[i].Labels[0] != c.first {
			t.Errorf("%s %s: axes %+v, want %d values from %s", c.keys, c.set, st.Axes, c.count, c.first)
		}
		for v := range st.Variants() {
			if _, err := st.Variant(v); err != nil {
				t.Errorf("%s %s: variant %d: %v", c.keys, c.set, v, err)
			}
		}

		// The study can be written and read back.
		text, err := st.TOML()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseStudy("s.toml", text, nil)
		if err != nil || again.Variants() != st.Variants() {
			t.Errorf("%s %s: read again: %v", c.keys, c.set, err)
		}
	}
	for set, want := range map[string]string{
		"fabric.dims=shapes of 7":          "--set: fabric.dims: no torus of three dimensions of at least 2 nodes has 7 nodes",
		"fabric.dims=shapes of 9999999999": "has too many nodes",
		"fabric.twist=al":                  `twist "al" is neither`,
	} {
		if _, err := ParseStudy("s.toml", []byte(spacesBase), []string{set}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", set, err, want)
		}
	}
}

// TestWholeFabrics: an axis can replace the whole fabric, or its kind. Keys of the file for other
// kinds are dropped, but not keys in the value itself. Labels name the kind and the differences.
func TestWholeFabrics(t *testing.T) {
	const torus, electrical = `{kind = "torus", dims = [2, 4], link_rate = "1Gbps"}`, `{kind = "electrical", gpus = 16, link_rate = "1Gbps"}`
	for _, c := range []struct{ base, sweep, labels, want string }{
		{"gpt7b", "fabric = [" + torus + ", " + electrical + "]", "torus dims=[2, 4] electrical gpus=16", "16 GPUs do not fit 8 nodes"},
		{"gpt7b", "fabric = [" + electrical + ", {kind = \"torus\", dims = [4, 4], link_rate = \"1Gbps\"}]", "electrical gpus=16 torus dims=[4, 4]", ""},
		{"gpt7b", "\"fabric.kind\" = [\"ocs-pods\", \"electrical\"]\n\"fabric.gpus\" = [16]\n\"fabric.link_rate\" = [\"1Gbps\"]", "ocs-pods electrical", ""},
		{"gpt7b", "fabric = [{kind = \"electrical\", gpus = 16, link_rate = \"1Gbps\", port_bandwidth = \"1Gbps\"}]", "", "sweep.fabric: is not used by fabric \"electrical\""},
	} {
		st, err := ParseStudy("s.toml", fmt.Appendf(nil, "base = %q\n[sweep]\n%s\n", c.base, c.sweep), nil)
		if err == nil {
			for v := range st.Variants() {
				if _, e := st.Variant(v); e != nil {
					err = e
				}
			}
			if labels := strings.Join(st.Axes[0].Labels, " "); labels != c.labels {
				t.Errorf("%s: labels %q, want %q", c.sweep, labels, c.labels)
			}
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.sweep, err, c.want)
		}
	}
	if _, err := Load("gpt7b", []string{`fabric={kind="electrical", gpus=16, link_rate="1Gbps"}`}); err != nil {
		t.Errorf("an override of the fabric: %v", err)
	}
}

// TestUnset: keys and tables of the base are removed, as if the base did not have them. A misspelt
// key is an error.
func TestUnset(t *testing.T) {
	for _, c := range []struct {
		file string
		set  []string
		want string // part of the error, or the resolved twist
	}{
		{"base = \"fault\"", nil, "tpuv4"},
		{"base = \"fault\"\nunset = [\"fabric.twist\"]", nil, ""},
		{"base = \"fault\"", []string{"unset=fabric.twist"}, ""},
		{"base = \"fault\"", []string{`unset=["fabric.twist", "fabric.failed_ocs"]`}, ""},
		{"base = \"fault\"\nunset = [\"fabric\"]\n[fabric]\nkind = \"torus\"\ndims = [4, 4, 8]\nlink_rate = \"1Gbps\"", nil, ""},
		{"base = \"fault\"\nunset = [\"fabric.twist\", \"fabric.failed_ocs\"]\n[fabric]\ntwist = \"001000\"", nil, "001000"},
		{"base = \"fault\"\nunset = [\"fabric.twst\"]", nil, `s.toml:2: unset: the base has no key "fabric.twst"; did you mean fabric.twist?`},
		{"base = \"fault\"", []string{"unset=fabric.twst"}, `--set: unset: the scenario has no key "fabric.twst"; did you mean fabric.twist?`},
		{"base = \"fault\"\nunset = \"fabric.twist\"", nil, `s.toml:2: unset: is the text "fabric.twist"; list keys in quotes`},
		{"unset = [\"fabric.twist\"]", nil, "s.toml:1: unset: removes keys of a base, and the file has none"},
	} {
		s, err := Parse("s.toml", []byte(c.file), c.set)
		switch isError := strings.Contains(c.want, "unset: "); {
		case isError && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s %v: %v, want %s", c.file, c.set, err, c.want)
		case !isError && (err != nil || s.Fabric.Twist != c.want):
			t.Errorf("%s %v: twist %+v, error %v, want %q", c.file, c.set, s, err, c.want)
		}
	}

	// A study applies it, too, under each base of an axis.
	const study = "unset = [\"fabric.failed_ocs\"]\n[sweep]\nbase = [\"fault\"]\nseed = [1, 2]\n"
	if _, err := ParseStudy("s.toml", []byte(study), []string{"unset=engine"}); err == nil {
		t.Error("a study removes a table that it does not have")
	}
	st, err := ParseStudy("s.toml", []byte(study), nil)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := st.Variant(1); err != nil || len(s.Fabric.FailedOCS) > 0 {
		t.Errorf("the second variant: %+v, %v", s, err)
	}
}

package result

import (
	"fmt"
	"strings"
	"testing"
)

// TestProject: parts with several values, or that some names lack, are columns, the policy last; the others are common.
func TestProject(t *testing.T) {
	names := []Name{
		{{ScenarioKey, "s"}, {PolicyKey, "p"}, {"a.n", "1"}, {"b.n", "2"}},
		{{ScenarioKey, "s"}, {PolicyKey, "p"}, {"a.n", "3"}, {"b.n", "2"}, {"c", "x"}},
	}
	keys, common := Project(names)
	if got := fmt.Sprint(keys, common, ColumnHeads(keys)); got != "[a.n c policy] s b.n=2 [n c policy]" {
		t.Errorf("%s", got)
	}
	if keys, common = Project(names[:1]); fmt.Sprint(keys) != "[policy]" || len(common) != 3 {
		t.Errorf("of one name %v and %v", keys, common)
	}
}

// TestWhere: a key may be shortened to its last part if that is unique; unknown keys and
// values are reported.
func TestWhere(t *testing.T) {
	names := []Name{{{PolicyKey, "p"}, {"a.size", "1"}}, {{PolicyKey, "q"}, {"a.size", "2"}}}
	for _, c := range []struct {
		where NameFilter
		want  string // matching names, or the error
	}{
		{nil, "[true true]"},
		{NameFilter{"size": {"2"}}, "[false true]"},
		{NameFilter{"a.size": {"1", "2"}, PolicyKey: {"p"}}, "[true false]"},
		{NameFilter{"a.size": {"1"}, PolicyKey: {"q"}}, "no row has all of that"},
		{NameFilter{"sise": {"1"}}, `no row has a part "sise"`},
		{NameFilter{"size": {"3"}}, "no row has a.size=3; there are 1, 2"},
	} {
		w, err := c.where.Resolve(names)
		got := fmt.Sprint([]bool{w.Matches(names[0]), w.Matches(names[1])})
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%v: %s, want %s", c.where, got, c.want)
		}
	}
}

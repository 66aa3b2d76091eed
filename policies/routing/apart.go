package routing

import (
	"fmt"
	"strings"

	"sim/engine"
)

// unjoined collects pairs that no path joins.
type unjoined struct {
	first []engine.Flow // three at most
	count int
}

func (u *unjoined) add(f engine.Flow) {
	if u.count++; len(u.first) < 3 {
		u.first = append(u.first, f)
	}
}

// err names the pairs, with ErrUnserved, and says why; nil where there are none.
func (u *unjoined) err(why string) error {
	if u.count == 0 {
		return nil
	}
	words := make([]string, len(u.first))
	for i, f := range u.first {
		words[i] = fmt.Sprintf("from node %d to %d", f.Src, f.Dst)
	}
	more := ""
	if k := u.count - len(u.first); k > 0 {
		more = fmt.Sprintf(" (and %d more pairs)", k)
	}
	return fmt.Errorf("%w: no way %s%s: %s", ErrUnserved, strings.Join(words, ", "), more, why)
}

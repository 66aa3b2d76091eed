package halt_test

import (
	"errors"
	"testing"

	"sim/policies/reconfigure/halt"
)

// search calls Check at each level of a recursion.
func search(w halt.When, depth int) (err error) {
	defer halt.Caught(&err)
	var deep func(int)
	deep = func(d int) {
		w.Check()
		if d > 0 {
			deep(d - 1)
		}
	}
	deep(depth)
	return nil
}

// TestCheck: a search ends at the first check for which When returns true; without a When it does
// not end.
func TestCheck(t *testing.T) {
	asked := 0
	when := halt.When(func() bool { asked++; return asked == 3 })
	if err := search(when, 10); !errors.Is(err, halt.ErrHalted) || asked != 3 {
		t.Errorf("%v after %d checks, want %v after 3", err, asked, halt.ErrHalted)
	}
	if err := search(nil, 10); err != nil {
		t.Error(err)
	}
}

// TestOtherPanics: panics of other origin continue.
func TestOtherPanics(t *testing.T) {
	for name, caught := range map[string]func(){
		"Caught": func() { var err error; defer halt.Caught(&err); panic("other") },
		"Left":   func() { defer halt.RecoverGoroutine(); panic("other") },
	} {
		func() {
			defer func() {
				if r := recover(); r != "other" {
					t.Errorf("%s: %v", name, r)
				}
			}()
			caught()
		}()
	}
}

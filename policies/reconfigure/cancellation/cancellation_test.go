package cancellation_test

import (
	"errors"
	"testing"

	"sim/policies/reconfigure/cancellation"
)

// search calls Check at each level of a recursion.
func search(c cancellation.Condition, depth int) (err error) {
	defer cancellation.Recover(&err)
	var deep func(int)
	deep = func(d int) {
		c.Check()
		if d > 0 {
			deep(d - 1)
		}
	}
	deep(depth)
	return nil
}

// TestCheck: a search ends at the first check for which the condition returns true; without a condition it does
// not end.
func TestCheck(t *testing.T) {
	asked := 0
	when := cancellation.Condition(func() bool { asked++; return asked == 3 })
	if err := search(when, 10); !errors.Is(err, cancellation.ErrCancelled) || asked != 3 {
		t.Errorf("%v after %d checks, want %v after 3", err, asked, cancellation.ErrCancelled)
	}
	if err := search(nil, 10); err != nil {
		t.Error(err)
	}
}

// TestOtherPanics: panics of other origin continue.
func TestOtherPanics(t *testing.T) {
	for name, caught := range map[string]func(){
		"Recover":          func() { var err error; defer cancellation.Recover(&err); panic("other") },
		"RecoverGoroutine": func() { defer cancellation.RecoverGoroutine(); panic("other") },
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

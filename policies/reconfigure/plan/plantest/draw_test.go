package plantest_test

import (
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/policies/reconfigure/plan/plantest"
)

// Drawn plans keep all rules. Code that rejects one is therefore wrong.
func TestDraw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if err := plantest.Draw(t).Check(); err != nil {
			t.Error(err)
		}
	})
}

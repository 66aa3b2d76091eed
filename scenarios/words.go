package scenarios

// Words says in a line what is run on what.
func (s *Scenario) Words() string {
	switch s.decision() {
	case "routers":
		return s.routedWords()
	case "planners":
		return s.planWords()
	}
	return s.pods().Words()
}

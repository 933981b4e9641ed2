"""What the paper says about its mathematics, with the tests that prove or refute it.

No statistics here. The word follows from the tests: it fails where one of them is a counterexample and holds where
none is. tests/test_claims.py holds that, and what each statement rests on, to what stands in the tests.
"""

from coexplore.paper.verdict import Verdict

PROOFS = "tests/test_proofs.py"
ENUMERATION, IDENTITY, TRAINING = "enumeration of every state", "an identity on random paths", "training"
DRAWS = "20,000 draws"
COUNTEREXAMPLE = "counterexample: "  # what the name of a test begins with here if it is one


def _theory(
    id: str, text: str, found: str, *tests: str, by: tuple[str, ...] = (ENUMERATION,), file: str = PROOFS
) -> Verdict:
    word = "fails" if any(test.startswith(COUNTEREXAMPLE) for test in tests) else "holds"
    named = tuple(f"{file}::test_{id.lower()}_{test.rpartition(': ')[2]}" for test in tests)
    return Verdict(id, text, word, None, None, None, 0, found, "", f"Rests on {' and '.join(by)}.", named, word)


THEORY = [
    _theory(
        "M1",
        "REINFORCE follows the gradient of the expected reward with either or both sides centred (rei1 – rei3)",
        "rei1 and rei2 with any V(S); rei3, which centres the reward alone, only with V = E[R|S]",
        "all_three_reinforce_rules_follow_the_gradient_of_expected_reward",
        "needs_the_true_value_where_only_the_reward_is_centred",
        "the_output_unit_follows_the_gradient_too",
        "holds_in_both_layers_of_a_two_layer_network",
    ),
    _theory(
        "M2",
        "Centring both sides has the lowest variance of the three",
        "not in general: for one unit that fires with p > 2/3 centring the reward alone has less; "
        "of the units of random networks it is the least for 99, 87 and 70 % where all weights are multiplied by "
        "½, 1 and 2, and summed over all weights for 100, 97 and 87 % of the networks",
        COUNTEREXAMPLE + "two_sided_centring_is_beaten_by_centring_the_reward_for_one_unit_with_p_above_two_thirds",
        COUNTEREXAMPLE + "two_sided_centring_has_the_least_variance_for_fewer_units_the_larger_the_weights",
    ),
    _theory(
        "M3",
        "With the reward centred, Algorithm 1 needs no negative phase to follow the gradient (bm4 – bm6)",
        "for H from the Boltzmann law (energy with ½ c hᵀW_rec h) and V = E[R|S]; "
        "not for the synchronous sampler that the paper runs, whose credit only points roughly that way",
        "without_a_negative_phase_boltzmann_credit_is_the_gradient_under_the_boltzmann_law",
        "with_exact_negative_statistics_rules_bm1_to_bm3_are_the_same_gradient",
        "fails_for_the_synchronous_sampler_whose_expected_credit_is_not_the_gradient_of_what_it_samples",
    ),
    _theory(
        "M4",
        "With nothing centred and rewards ≥ 0 the weights of Algorithm 1 never decrease",
        "W_rec and b for all inputs, W for inputs of 0 and 1",
        "without_centring_and_with_rewards_of_at_least_zero_boltzmann_weights_never_fall",
    ),
    _theory(
        "M5",
        "W_rec stays symmetric under Algorithm 1 if it starts so",
        "after training too, with a zero diagonal",
        "the_recurrent_weights_of_algorithm_1_stay_symmetric_with_a_zero_diagonal",
        by=(TRAINING,),
        file="tests/test_xla.py",
    ),
    _theory(
        "M6",
        "At c = 0 Algorithm 1 is rei3, and Algorithm 2 with λ = 0 is rei2",
        "for the same last draw of H",
        "algorithm_1_at_zero_coupling_is_reinforce_with_the_reward_centred",
        "algorithm_2_at_zero_coupling_and_zero_trace_decay_is_reinforce_centred_on_both_sides",
        by=(IDENTITY,),
    ),
    _theory(
        "M7",
        "REINFORCE on every recurrent step (rn1 – rn3, λ = 1) is an unbiased estimate of the gradient",
        "rn1 is; rn2 and rn3 as printed are off by one: they leave out the first of T + 1 draws, which depends on W "
        "and b too, and miss 16, 3 and 0.1 % of the largest entry at T = 1, 2 and 4 (medians of networks of two "
        "units); adding its score, or c = 0, makes them so",
        "at_trace_decay_one_the_recurrent_weights_follow_the_gradient",
        "the_feedforward_rules_leave_out_the_first_draw_and_are_unbiased_once_it_is_added",
        COUNTEREXAMPLE + "as_printed_the_feedforward_rules_are_biased_and_less_so_as_steps_are_added",
        "at_zero_coupling_the_feedforward_rules_are_unbiased",
    ),
    _theory(
        "M8",
        "The steps sample the Boltzmann law in the limit, if units are updated one at a time",
        "synchronous updates, which the paper runs, converge to a law of their own",
        "one_by_one_sampling_leaves_the_boltzmann_law_unchanged_and_synchronous_sampling_does_not",
        "the_one_by_one_sampler_makes_exactly_the_single_unit_transitions",
        "each_sampler_draws_from_its_own_law",
        by=(ENUMERATION, DRAWS),
    ),
    _theory(
        "M9",
        "The eligibility traces of the box compute the sums rn4 – rn6",
        "entry for entry",
        "credit_equals_the_eligibility_traces_of_the_algorithm_box",
        by=(IDENTITY,),
    ),
    _theory(
        "M10",
        "At c = 0 the trace decay λ adds noise and no bias",
        "with coupling λ < 1 does bias the credit of W_rec, less and less as λ nears 1",
        "at_zero_coupling_every_trace_decay_has_the_expectation_of_reinforce",
        "with_coupling_the_bias_of_the_recurrent_credit_falls_to_nothing_as_trace_decay_rises_to_one",
    ),
    _theory(
        "M11",
        "A positive TD error lowers the energy at the H that was drawn, a negative one raises it",
        "to first order in the step, at every H but the one where no unit fires, which stays as it is",
        "a_step_with_positive_delta_raises_the_probability_of_what_was_drawn",
    ),
    _theory(
        "M12",
        "Where only the reward is centred, a unit that did not fire is left unchanged",
        "under rei3 and under bm4 – bm6",
        "a_unit_that_did_not_fire_keeps_its_weights_where_only_the_reward_is_centred",
        by=(IDENTITY,),
    ),
]

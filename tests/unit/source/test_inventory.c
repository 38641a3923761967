/* The lists of units and threads: what was added, copied, in its order. */
#include "exporter/source/inventory.h"
#include "tests/unit/support/unit.h"

TEST(units_and_threads_are_copied_in_order)
{
    struct inventory inventory = {0};
    struct source_unit unit = {.key = "imc0", .kind = "imc", .socket = 1, .imc = 2};
    struct source_thread thread = {.key = "p0", .kind = "probe", .tid = 5};

    assert_int_equal(inventory_add_unit(&inventory, &unit), 0);
    memset(&unit, 0, sizeof unit);
    assert_int_equal(inventory_add_unit(&inventory, &unit), 0);
    assert_int_equal(inventory_add_thread(&inventory, &thread), 0);
    memset(&thread, 0, sizeof thread);

    assert_int_equal(inventory.n_units, 2);
    assert_string_equal(inventory.units[0].key, "imc0");
    assert_int_equal(inventory.units[0].imc, 2);
    assert_string_equal(inventory.units[1].key, "");
    assert_int_equal(inventory.n_threads, 1);
    assert_string_equal(inventory.threads[0].key, "p0");
    assert_int_equal(inventory.threads[0].tid, 5);
    inventory_release(&inventory);
    assert_int_equal(inventory.n_units, 0);
    assert_null(inventory.threads);
}

TEST(holds_a_large_machine)
{
    struct inventory inventory = {0};
    struct source_unit unit = {.kind = "imc"};

    for (int i = 0; i < 1000; i++) {
        unit.imc = i;
        snprintf(unit.key, sizeof unit.key, "imc%d", i);
        assert_int_equal(inventory_add_unit(&inventory, &unit), 0);
    }
    assert_int_equal(inventory.n_units, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(inventory.units[i].imc, i);
    assert_string_equal(inventory.units[999].key, "imc999");
    assert_int_equal(inventory.n_threads, 0);
    inventory_release(&inventory);
}

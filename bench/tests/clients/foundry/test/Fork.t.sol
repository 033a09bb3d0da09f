// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Counter} from "../src/Counter.sol";
import {vm} from "../src/Vm.sol";

// ForkTest runs over the state of a node, on which Deploy has run after a block: forge test --fork-url.
contract ForkTest {
    Counter counter;

    function setUp() public {
        counter = Counter(vm.envAddress("COUNTER"));
    }

    function testReadsTheNode() public view {
        require(counter.number() == 17, "the number of the script");
        require(address(0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266).balance > 0, "the deployer's balance");
    }

    function testWritesToItsOwnCopy() public {
        counter.set(50);
        require(counter.number() == 50, "the copy");
    }

    function testRevertsAsTheNode() public {
        try counter.set(101) {
            revert("it takes 101");
        } catch (bytes memory reason) {
            require(bytes4(reason) == Counter.TooLarge.selector, "the reason");
        }
    }

    function testGoesBackToAnOlderBlock() public {
        vm.rollFork(vm.envUint("BEFORE"));
        require(address(counter).code.length == 0, "the contract is not there yet");
    }
}
